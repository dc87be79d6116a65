"""Hugging Face Transformers: PB2 tunes a `Trainer` whose small GPT learns to repeat what it has read.

The model is made from a configuration, so that nothing is downloaded. `max_steps` covers the whole run: intervals times
steps. With `lr_scheduler_type="constant"` the learning rate is what PB2 says, and nothing else.

Run it: python examples/transformers_copying.py
"""

import tempfile
from typing import Any

import torch
import transformers

import popbandits as pb
from popbandits.integrations.transformers import trainable

WORDS, LENGTH = 20, 8
SPACE = {
    "learning_rate": pb.Float(1e-4, 1e-1, log=True),
    "weight_decay": pb.Float(0.0, 0.1),
    "batch_size": pb.Int(4, 64, log=True),
}


class Copying(torch.utils.data.Dataset):  # type: ignore[misc]
    """Sequences whose second half repeats the first."""

    def __init__(self, count: int, seed: int) -> None:
        half = torch.randint(WORDS, (count, LENGTH // 2), generator=torch.Generator().manual_seed(seed))
        self.rows = torch.cat([half, half], dim=1)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[i], "labels": self.rows[i]}


def make_trainer(seed: int) -> Any:
    transformers.set_seed(seed)
    shape = {"vocab_size": WORDS, "n_positions": LENGTH, "n_embd": 32, "n_layer": 2, "n_head": 2}
    config = transformers.GPT2Config(**shape, bos_token_id=0, eos_token_id=0)
    arguments = transformers.TrainingArguments(
        output_dir=tempfile.gettempdir(),
        max_steps=10_000,
        lr_scheduler_type="constant",
        seed=seed,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        logging_strategy="no",
    )
    return transformers.Trainer(
        model=transformers.GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=Copying(4096, seed=0),
        eval_dataset=Copying(256, seed=1),
    )


Agent = trainable(make_trainer, steps=20)

if __name__ == "__main__":
    run = pb.tune(Agent, SPACE, metric="eval_loss", mode="min", population=4, intervals=10)
    print(f"loss {run.best.score:.3f} with {run.best.hparams}")

# Its last line of output, which differs a little from machine to machine:
# loss 1.278 with {'learning_rate': 0.00736489086810183, 'weight_decay': 0.0023440595384016053, 'batch_size': 52}
