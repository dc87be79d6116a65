"""The paper's tasks as trainables. They need the extra `rl`: pip install 'popbandits[rl]'."""
