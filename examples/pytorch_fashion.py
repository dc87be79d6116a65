"""Plain PyTorch: a small convolutional network learns Fashion-MNIST from files on disk, and PB2 tunes it meanwhile.

What to copy: hyperparameters are put into the optimiser's groups at the beginning of every step; a checkpoint holds the
weights, the optimiser, the gradient scaler and the random state; mixed precision is used where there is a GPU.

The data are Debian's: apt-get install dataset-fashion-mnist. Then: python examples/pytorch_fashion.py
"""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import popbandits as pb

DATA = "/usr/share/datasets/fashion-mnist"
SPACE = {
    "lr": pb.Float(1e-4, 1.0, log=True),
    "momentum": pb.Float(0.0, 0.99),
    "weight_decay": pb.Float(1e-6, 1e-2, log=True),
    "batch_size": pb.Int(32, 512, log=True),
}


def read(folder: str, name: str) -> torch.Tensor:
    """Return one of the four files of the data set: a header of 4 or 16 bytes, then one byte a number."""
    raw = gzip.decompress((Path(folder) / name).read_bytes())
    dims = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i : 8 + 4 * i], "big") for i in range(dims)]
    return torch.from_numpy(np.frombuffer(raw, np.uint8, offset=4 + 4 * dims).reshape(shape).copy())


class Net:
    """The trainable. An interval is `examples` images of training; the score is the accuracy on 5,000 others."""

    def __init__(self, seed: int, data: str = DATA, examples: int = 6_000) -> None:
        torch.manual_seed(seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        images = read(data, "train-images-idx3-ubyte.gz").float().div_(255).unsqueeze(1)
        labels = read(data, "train-labels-idx1-ubyte.gz").long()
        self.train, self.test = (images[:55_000], labels[:55_000]), (images[55_000:], labels[55_000:])
        self.examples = examples
        self.net = nn.Sequential(
            *(nn.Conv2d(1, 16, 5, stride=2), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(32 * 4 * 4, 10)),
        ).to(self.device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.9)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.device.type == "cuda")
        self.rng = torch.Generator().manual_seed(seed)

    def step(self, hparams: dict[str, Any]) -> dict[str, float]:
        for group in self.optimizer.param_groups:
            group.update({name: hparams[name] for name in ("lr", "momentum", "weight_decay")})
        self.net.train()
        for batch in torch.randperm(55_000, generator=self.rng)[: self.examples].split(hparams["batch_size"]):
            images, labels = (part[batch].to(self.device) for part in self.train)
            with torch.autocast(self.device.type, enabled=self.scaler.is_enabled()):
                loss = nn.functional.cross_entropy(self.net(images), labels)
            self.optimizer.zero_grad()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        return {"accuracy": self.accuracy(), "loss": loss.item()}

    def accuracy(self) -> float:
        self.net.eval()
        images, labels = (part.to(self.device) for part in self.test)
        with torch.no_grad():
            return float((self.net(images).argmax(1) == labels).float().mean())

    def save(self, path: Path) -> None:
        parts = {"net": self.net, "optimizer": self.optimizer, "scaler": self.scaler}
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save(state | {"rng": self.rng.get_state()}, path / "state.pt")

    def load(self, path: Path) -> None:
        state = torch.load(path / "state.pt", map_location=self.device, weights_only=True)
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.rng.set_state(state["rng"].cpu())

    def reseed(self, seed: int) -> None:
        self.rng.manual_seed(seed)  # a copy draws other batches than its donor


if __name__ == "__main__":
    run = pb.tune(Net, SPACE, metric="accuracy", population=4, intervals=10)
    print(f"accuracy {run.best.score:.3f} with {run.best.hparams}")

# Its last line of output, which differs a little from machine to machine:
# accuracy 0.855 with {'lr': 0.027666683651663568, 'momentum': 0.923687556381708, 'weight_decay':
# 4.5782594763480345e-05, 'batch_size': 155}
