"""Trains the embedded reader on a prepared file: `python -m ocr_app.training.train data.npz --out run/
--minutes 60`.

Resumes by itself from `run/checkpoint.pt`. `--device cuda` trains in bfloat16 with larger steps. Writes a log
(JSON lines), a loss curve (PNG), and at the end the weights as `reader.safetensors`.
"""

import argparse
import json
import random
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, REGIONS, Structure
from ocr_app.models.embedded.reader import PointerReader, ReaderShape
from ocr_app.training.batches import Document, collate
from ocr_app.training.dataset import BatchPlan, load_documents, plan_batches
from ocr_app.training.forward import IGNORED, Batch, Sight, forward, loss_of

FEATURE_SHARE = 0.4  # of the letters' features beside geometry, which decides structure
SIGHTS = ("all", "none", "random", "routed")


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One run. Learning rate: linear warm-up, then a cosine over the run's minutes down to a tenth of a
    percent.
    """

    minutes: float = 60.0
    learning_rate: float = 2e-3
    warmup_steps: int = 100
    weight_decay: float = 0.01
    region_weight: float = (
        8.0  # of tokens that open a region: few among thousands of pointers, and what structure hangs on
    )
    join_weight: float = 4.0
    cell_weight: float = 2.0
    average_decay: float = 0.998  # of the running average of weights, which is what is shipped
    sight_weights: tuple[float, ...] = (0.45, 0.15, 0.2, 0.2)  # of SIGHTS
    misread_share: float = 0.08
    # always so on CUDA; on a CPU with instructions for it, products of matrices take a quarter of the time
    bfloat16: bool = False
    save_every_s: float = 120.0
    report_steps: int = 25
    seed: int = 0


class Trainer:
    """Model, averaged weights, optimiser and progress of one run."""

    def __init__(self, model: PointerReader, config: TrainConfig, device: str):
        self.model, self.config, self.device = model.to(device), config, device
        self.in_bfloat16 = device == "cuda" or config.bfloat16
        self.average = {name: value.clone() for name, value in model.state_dict().items()}
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=config.weight_decay
        )
        self.structure_weights = structure_weights(config).to(device)
        self.step_index = 0
        self.trained_s = 0.0
        self.rng = random.Random(config.seed)

    @property
    def share_done(self) -> float:
        return min(1.0, self.trained_s / (60 * self.config.minutes))

    def learning_rate(self) -> float:
        cosine = 0.5 * (1 + torch.cos(torch.tensor(self.share_done * torch.pi)).item())
        return (
            self.config.learning_rate
            * min(1.0, (self.step_index + 1) / self.config.warmup_steps)
            * max(1e-3, cosine)
        )

    def step(self, documents: list[Document]) -> dict[str, float]:
        """Learn from one batch; returns its figures."""
        started = time.perf_counter()
        batch = collate(documents, self.rng, misread_share=self.config.misread_share).to(self.device)
        references = (
            self.rng.choices(SIGHTS, self.config.sight_weights)[0] if len(documents[0]) > 1 else "all"
        )
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate()
        with torch.autocast(self.device, torch.bfloat16) if self.in_bfloat16 else nullcontext():
            logits = forward(self.model, batch, self._sight(references))
        loss = loss_of(logits, batch, self.structure_weights)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self._update_average()
        self.step_index += 1
        self.trained_s += time.perf_counter() - started
        return {"loss": loss.item(), **accuracies(logits.detach(), batch)}

    def _sight(self, references: str) -> Sight:
        """Budgets smaller than at reading, and no overlap at times, so that the router has to choose though
        the documents are short.
        """
        return Sight(
            references=references,
            block_budget=self.rng.choice((2, 4, 12)),
            overlap_pages=self.rng.choice((0, 1)),
        )

    @torch.no_grad()
    def _update_average(self) -> None:
        decay = min(self.config.average_decay, (1 + self.step_index) / (10 + self.step_index))
        for name, value in self.model.state_dict().items():
            if value.is_floating_point():
                self.average[name].lerp_(value, 1 - decay)

    def save(self, path: Path) -> None:
        state = {
            "model": self.model.state_dict(),
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "step": self.step_index,
            "trained_s": self.trained_s,
        }
        temporary = path.with_suffix(".tmp")
        torch.save(state, temporary)
        temporary.replace(path)

    def resume(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.average = state["average"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.step_index, self.trained_s = state["step"], state["trained_s"]
        self.rng.seed(self.config.seed + self.step_index)


def start_from(trainer: Trainer, path: Path) -> None:
    """Take over the averaged weights of another run. What it did not have yet, geometry features at the end
    too, starts at nothing.
    """
    known = torch.load(path, map_location=trainer.device, weights_only=True)["average"]
    state = trainer.model.state_dict()
    num_known = len(known["geometry_mean"])
    state["geometry_in.0.weight"][:, num_known:] = 0
    for name, value in known.items():
        if name == "geometry_in.0.weight":
            state[name][:, :num_known] = value
        elif not name.startswith(("geometry_mean", "geometry_scale")):
            state[name].copy_(value)
        else:
            state[name][:num_known] = value
    trainer.average = {name: value.clone() for name, value in state.items()}


def structure_weights(config: TrainConfig) -> Tensor:
    """(NUM_STRUCTURE_TOKENS,) weight of each structure token in the loss; a pointer has 1."""
    weights = torch.ones(NUM_STRUCTURE_TOKENS)
    weights[list(REGIONS)] = config.region_weight
    weights[[Structure.CONTINUE, Structure.LINE_BREAK, Structure.DROP_HYPHEN, Structure.JOIN]] = (
        config.join_weight
    )
    weights[[Structure.ROW, Structure.CELL]] = config.cell_weight
    return weights


@torch.no_grad()
def accuracies(logits: Tensor, batch: Batch) -> dict[str, float]:
    """Share of right tokens, of right structure tokens, and of documents without a wrong token, earlier
    tokens being the true ones.
    """
    is_target = batch.targets != IGNORED
    is_structure = is_target & (batch.targets < NUM_STRUCTURE_TOKENS)
    right = logits.argmax(-1) == batch.targets
    return {
        "token": right[is_target].float().mean().item(),
        "structure": right[is_structure].float().mean().item(),
        "document": (right | ~is_target).all(1).float().mean().item(),
    }


@torch.no_grad()
def validate(
    model: PointerReader, documents: list[Document], device: str, *, references: str = "all", most: int = 40
) -> dict[str, float]:
    """Mean figures over held-out documents, cut to three pages."""
    rng, figures = random.Random(1), []
    for document in documents[:most]:
        batch = collate([document[:3]], rng).to(device)
        logits = forward(model, batch, Sight(references=references))
        figures.append({"loss": loss_of(logits, batch).item(), **accuracies(logits, batch)})
    return {name: sum(figure[name] for figure in figures) / len(figures) for name in figures[0]}


def standardise(model: PointerReader, documents: list[Document]) -> None:
    """Set the statistics of features and geometry from the data.

    Geometry matters most here: heights that tell a heading differ by tenths where flags differ by ones, and
    would be learned last.
    """
    pages = [page for document in documents for page in document]
    features = torch.cat([torch.from_numpy(page.features[::4]).float() for page in pages])
    geometry = torch.cat([torch.from_numpy(page.geometry[::4]).float() for page in pages])
    model.feature_mean.copy_(features.mean(0))
    model.feature_scale.copy_(FEATURE_SHARE / features.std(0).clamp_min(1e-3))
    model.geometry_mean.copy_(geometry.mean(0))
    model.geometry_scale.copy_(1 / geometry.std(0).clamp_min(0.02))


def train(
    trainer: Trainer, documents: list[Document], plan: BatchPlan, held_out: list[Document], out: Path
) -> None:
    """Run until the minutes are used up, reporting and saving on the way."""
    config, recent, last_save = trainer.config, [], time.monotonic()
    batches = plan_batches(documents, plan, trainer.rng)
    with open(out / "log.jsonl", "a") as log, tqdm(total=100, unit="%", file=sys.stderr) as bar:
        while trainer.share_done < 1:
            recent.append(trainer.step(next(batches)))
            bar.update(100 * trainer.share_done - bar.n)
            if trainer.step_index % config.report_steps == 0:
                row: dict[str, Any] = {
                    name: sum(figures[name] for figures in recent) / len(recent) for name in recent[0]
                }
                row |= {
                    "step": trainer.step_index,
                    "minutes": trainer.trained_s / 60,
                    "rate": trainer.learning_rate(),
                }
                recent = []
                if trainer.step_index % (10 * config.report_steps) == 0 and held_out:
                    row["held_out"] = validate(trainer.model.eval(), held_out, trainer.device)
                    trainer.model.train()
                print(json.dumps(row), file=log, flush=True)
                bar.set_postfix(
                    step=trainer.step_index, loss=f"{row['loss']:.3f}", token=f"{row['token']:.4f}"
                )
            if time.monotonic() - last_save > config.save_every_s:
                trainer.save(out / "checkpoint.pt")
                last_save = time.monotonic()
    trainer.save(out / "checkpoint.pt")


def export(trainer: Trainer, path: Path, about: dict[str, str]) -> None:
    """Averaged weights in float16, the shape and the card's figures in the header."""
    from safetensors.torch import save_file

    persistent = {name: value.to(torch.float16).contiguous().cpu() for name, value in trainer.average.items()}
    save_file(persistent, path, {"shape": json.dumps(trainer.model.shape.to_dict()), **about})


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="+", help="files made by training.prepare")
    parser.add_argument("--held-out", type=Path, help="a file of the held-out split, for validation")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--init", type=Path, help="checkpoint of another run to take the weights from")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--bfloat16",
        action="store_true",
        help="on CPUs too, where they have instructions for it (avx512_bf16, amx)",
    )
    parser.add_argument("--pages-per-step", type=int, default=8)
    parser.add_argument(
        "--shape",
        type=json.loads,
        default={},
        help="sizes other than the default, as JSON: '{\"width\": 256}'",
    )
    args = parser.parse_args(argv)

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    args.out.mkdir(parents=True, exist_ok=True)
    documents = [document for path in args.data for document in load_documents(path)]
    held_out = load_documents(args.held_out) if args.held_out else []
    model = PointerReader(ReaderShape(**args.shape))
    standardise(model, documents)
    config = TrainConfig(minutes=args.minutes, learning_rate=args.learning_rate, bfloat16=args.bfloat16)
    trainer = Trainer(model, config, args.device)
    checkpoint = args.out / "checkpoint.pt"
    if checkpoint.exists():
        trainer.resume(checkpoint)
    elif args.init:
        start_from(trainer, args.init)
    plan = BatchPlan(args.pages_per_step, 1500 * args.pages_per_step)
    train(trainer, documents, plan, held_out, args.out)
    figures = {}
    if held_out:
        model.load_state_dict(trainer.average)
        figures = {
            references: validate(model.eval(), held_out, args.device, references=references)
            for references in SIGHTS
        }
    about = {
        "steps": str(trainer.step_index),
        "minutes": f"{trainer.trained_s / 60:.1f}",
        "figures": json.dumps(figures),
    }
    export(trainer, args.out / "reader.safetensors", {**about, "config": json.dumps(asdict(config))})
    from ocr_app.training.curve import draw_curve

    draw_curve(args.out / "log.jsonl", args.out / "curve.png")
    print(json.dumps({"steps": trainer.step_index, "held_out": figures}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
