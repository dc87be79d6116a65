"""Speed and quality, as ratios against real peers in one run."""
