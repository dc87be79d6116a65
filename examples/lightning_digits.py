"""PB2 tunes a Lightning module's learning rate, weight decay, dropout and batch size while it learns to read digits."""

from typing import Any

import lightning
import torch
from sklearn.datasets import load_digits

import popbandits as pb
from popbandits.integrations.lightning import trainable


class Digits(lightning.LightningDataModule):  # type: ignore[misc]
    """Handwritten digits, 8 x 8 pixels."""

    batch_size = 64

    def setup(self, stage: str) -> None:
        images, labels = load_digits(return_X_y=True)
        whole = torch.utils.data.TensorDataset(torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels))
        self.parts = torch.utils.data.random_split(whole, [1400, 397], torch.Generator().manual_seed(0))

    def train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(self.parts[0], self.batch_size, shuffle=True)

    def val_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(self.parts[1], 400)


class Network(lightning.LightningModule):  # type: ignore[misc]
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 10)
        self.dropout = 0.1

    def forward(self, images: Any) -> Any:
        hidden = torch.nn.functional.dropout(torch.relu(self.first(images)), self.dropout, self.training)
        return self.second(hidden)

    def training_step(self, batch: Any) -> Any:
        return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch: Any) -> None:
        self.log("accuracy", (self(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)


Agent = trainable(Network, Digits, epochs=1, accelerator="cpu")

SPACE = {
    "lr": pb.Float(1e-4, 1.0, log=True),
    "weight_decay": pb.Float(1e-6, 1e-2, log=True),
    "dropout": pb.Float(0.0, 0.5),
    "batch_size": pb.Int(16, 256, log=True),
}

if __name__ == "__main__":
    run = pb.tune(Agent, SPACE, population=4, intervals=8, metric="accuracy")
    print(run.best.score, run.best.hparams)

# Its last line of output, which differs a little from machine to machine:
# 0.9697732925415039 {'lr': 0.0302572691917226, 'weight_decay': 0.004711440652177261, 'dropout': 0.11378236735985814,
# 'batch_size': 47}
