"""PB2 tunes Stable-Baselines3's PPO while it learns to balance a pole."""

from stable_baselines3 import PPO

import popbandits as pb
from popbandits.integrations import sb3


def make_model(seed: int) -> PPO:
    return PPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=seed, device="cpu")


Agent = sb3.trainable(make_model, steps=4096)

SPACE = {
    "learning_rate": pb.Float(1e-5, 1e-2, log=True),
    "clip_range": pb.Float(0.1, 0.4),
    "gamma": pb.Float(0.9, 0.999, logit=True),
    "batch_size": pb.Choice(32, 64, 128),
}

if __name__ == "__main__":
    run = pb.tune(Agent, SPACE, population=4, intervals=8)
    print(run.best.score, run.best.hparams)

# Its last line of output, which differs a little from machine to machine:
# 500.0 {'learning_rate': 0.003947055829639408, 'clip_range': 0.3138873598375784, 'gamma': 0.9798736212569609,
# 'batch_size': 64}
