"""Networks on images, as studies train them: layouts, gradients, weights of central training, and files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from unpooled.asking.cohort import ArrayTable
from unpooled.fitted import image_network
from unpooled.fitted.image_network import (
    ARCHITECTURES,
    KNCONV,
    KNRESNET_13,
    KNRESNET_18,
    KNRESNET_34,
    KNRESNET_50,
    ImageNetwork,
)
from unpooled.fitted.network import start
from unpooled.methods import METHODS, check, usual
from unpooled.methods.learning import network_questions
from unpooled.methods.learning.design import SumProducts
from unpooled.methods.learning.network_questions import SumGradient
from unpooled.methods.learning.reading import Examples
from unpooled.methods.local_updates.questions import SumUpdates
from unpooled.methods.private_network.questions import SumClipped
from unpooled.methods.shared.privacy import clipped
from unpooled.panel.panel import Panel
from unpooled.plan.categories import Words
from unpooled.plan.plan import NO_KEY, Plan, PlanError
from unpooled.plan.schema import Column
from unpooled.run import run, written
from unpooled_networks import load
from unpooled_networks.layouts import layouts
from unpooled_networks.studies import build

SIZE = (1, 8, 8)
ROUNDS = 20


def pool() -> tuple[np.ndarray, np.ndarray]:
    """Images of three digits, with their classes."""
    x, y = load_digits(n_class=3, return_X_y=True)
    return (x.reshape(-1, *SIZE) * (255 / 16)).astype(np.uint8), y


def plan_of(test: str, **options: Any) -> Plan:
    schema = (
        Column("file", "image", encoding="1x8x8"),
        Column("digit", "category", role="outcome", levels=("0", "1", "2")),
        Column("person", "text", role="patient"),
    )
    named = {"test": test, "cohorts": 3, "compensator_key": NO_KEY, "people_in_a_round": 100, **usual(test)}
    plan = Plan(**{**named, **options}, schema=schema)
    check(plan)
    return plan


def cohorts(
    plan: Plan, most: int | None = None, of_a_person: int = 2, of_its_class: float = 0.7
) -> list[Examples]:
    """Three cohorts, each of which is given this share of one class's images; `most` images in all."""
    (images, y), random = (part[:most] for part in pool()), np.random.default_rng(3)
    where = np.where(random.random(len(y)) < of_its_class, y, random.integers(0, 3, len(y)))
    found = []
    for cohort in range(3):
        rows = np.flatnonzero(where == cohort)
        words = {
            "file": Words.of(map(str, rows.tolist())),
            "digit": Words.of(map(str, y[rows].tolist())),
            "person": Words.of(f"{cohort}-{k // of_a_person}" for k in range(len(rows))),
        }
        table = ArrayTable(np.empty((len(rows), 0)), words, images=images[rows])
        prepared = METHODS[plan.test].prepared(table, plan)
        assert isinstance(prepared, Examples)
        found.append(replace(prepared, secret=bytes([cohort]) * 32))
    return found


def module_of(network: ImageNetwork, weights: np.ndarray) -> nn.Sequential:
    module = build(network.activation, network.widths).double()
    module.load_state_dict({name: torch.tensor(part) for name, part in network.named(weights).items()})
    return module


def flat(parts: Any) -> np.ndarray:
    return np.concatenate([part.detach().numpy().ravel() for part in parts])


def test_core_knows_the_networks_that_torch_builds() -> None:
    """Run python -m unpooled_networks.layouts with this file after a network has changed."""
    file = Path(image_network.__file__).with_name("image_layouts.json")
    assert file.read_text(encoding="utf-8") == layouts()
    assert set(json.loads(layouts())) == set(ARCHITECTURES)


@pytest.mark.parametrize(
    ("name", "widths"), [(KNCONV, (1, 8, 8, 1)), *((name, (3, 28, 20, 7)) for name in ARCHITECTURES)]
)
def test_names_shapes_and_start_values_are_torchs(name: str, widths: tuple[int, int, int, int]) -> None:
    network, module = ImageNetwork(widths, name), build(name, widths)
    named = {key: tuple(part.shape) for key, part in module.named_parameters()}
    assert list(network.shapes.items()) == list(named.items())
    assert network.size == sum(part.numel() for part in module.parameters())
    found, theirs = network.named(start(network, 1)), dict(module.named_parameters())
    for key, part in found.items():
        if part.ndim == 4 and part.size > 1000:
            assert part.std() == pytest.approx(theirs[key].std().item(), rel=0.1)


@pytest.mark.parametrize(("name", "pixels"), [(KNCONV, 8), (KNRESNET_18, 16), (KNRESNET_50, 8)])
def test_what_drops_out_is_what_the_last_layer_takes(name: str, pixels: int) -> None:
    """Against torch, which is given the same factors at the last layer."""
    random, network = np.random.default_rng(1), ImageNetwork((1, pixels, pixels, 3), name)
    x, weights = random.integers(0, 256, (2, 1, pixels, pixels), np.uint8), start(network, 0)
    module, wanted = module_of(network, weights), torch.tensor([0, 2])
    kept = 2.0 * random.integers(0, 2, (2, *network.hidden))
    module[-1].register_forward_pre_hook(lambda _, given: (given[0] * torch.tensor(kept),))
    functional.cross_entropy(
        module(torch.tensor(x, dtype=torch.float64) / 255), wanted, reduction="sum"
    ).backward()

    def slope(scores: np.ndarray) -> np.ndarray:
        return np.asarray(torch.tensor(scores).softmax(1) - functional.one_hot(wanted, 3))

    found = network.gradient(weights, x, slope, [kept])
    np.testing.assert_allclose(found, flat(part.grad for part in module.parameters()), rtol=0, atol=1e-9)
    assert np.abs(found).max() > 1e-3


def test_images_drop_out_by_cohort_and_round() -> None:
    plan = plan_of("image-network", image_dropout=0.5)
    network, design = ImageNetwork((*SIZE, 3), KNCONV), SumProducts.widest(plan)
    about = plan, design, np.zeros(0), start(network, 0), 0
    first, second = (SumGradient(*about, turn) for turn in (1, 2))
    one, other = (replace(cohorts(plan)[0], secret=bytes([k]) * 32) for k in (1, 2))

    def found(question: SumGradient, table: Examples) -> np.ndarray:
        return np.asarray(question.local(table)["gradient"])

    assert (found(first, one) == found(first, one)).all()
    assert (found(first, one) != found(second, one)).any() and (
        found(first, one) != found(first, other)
    ).any()


# A residual network is large, so it is shown few images, dealt out such that floors are kept.
@pytest.mark.parametrize(
    ("name", "rounds", "images"), [(KNCONV, ROUNDS, (537,)), (KNRESNET_13, 2, (140, 1, 0.0))]
)
def test_weights_are_those_of_central_training(name: str, rounds: int, images: tuple[Any, ...]) -> None:
    options = {"training_rounds": rounds, "patience": 0, "learning_rate": 0.002, "validation_folds": 2}
    plan = plan_of("image-network", **options, architecture=name, people_in_a_round=10)
    tables = cohorts(plan, *images)
    results = run(plan, Panel.of([]), tables)
    shown = np.concatenate([table.images[table.folds == 0] for table in tables])
    classes = np.concatenate([table.classes[table.folds == 0] for table in tables])
    network = ImageNetwork((*SIZE, 3), name)
    begun = start(network, 0)
    module = module_of(network, begun)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.002)
    x, y = torch.tensor(shown, dtype=torch.float64) / 255, torch.tensor(classes)
    for _ in range(rounds):
        optimizer.zero_grad()
        functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    ours, central = results["weights"]["weight"], flat(module.parameters())
    assert np.abs(central - begun).max() > 0.001 * rounds
    assert np.mean((ours - central) ** 2) <= 1e-20


@pytest.mark.parametrize("algorithm", ["fedcmb", "fedavg"])
def test_local_updates_are_steps_of_torch_on_a_cohorts_own_images(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"local_algorithm": algorithm, "local_steps": 4, "learning_rate": 0.05, "batch_rows": 60}
    plan = plan_of("image-local-updates", **options)
    network, table = ImageNetwork((*SIZE, 3), KNCONV), cohorts(plan)[0]
    begun, design = start(network, 0), SumProducts.widest(plan)
    held_out = design.folds - 1
    question = SumUpdates(plan, design, np.zeros(0), begun, held_out, 1)
    module = module_of(network, begun)
    optimizer, batches = torch.optim.SGD(module.parameters(), lr=0.05), list(question.batches(table))
    for rows in batches:
        optimizer.zero_grad()
        x = torch.tensor(table.images[rows], dtype=torch.float64) / 255
        functional.cross_entropy(module(x), torch.tensor(table.classes[rows])).backward()
        optimizer.step()
    shown = np.count_nonzero(table.folds != held_out)
    assert len(batches) == (4 if algorithm == "fedcmb" else shown // 60)
    assert not np.isin(held_out, table.folds[np.concatenate(batches)])
    went = (begun - flat(module.parameters())) / 0.05
    np.testing.assert_allclose(question.accumulated(table), went, rtol=0, atol=1e-11)
    # Image by image, as of a batch that is too large for the memory, it is the same.
    monkeypatch.setattr(network_questions, "_AT_ONCE", 0)
    np.testing.assert_allclose(question.accumulated(table), went, rtol=0, atol=1e-11)


def test_one_local_step_of_all_images_is_one_of_the_pools() -> None:
    options = {"training_rounds": 3, "patience": 0, "learning_rate": 0.05}
    alike = plan_of("image-network", optimizer="sgd", **options)
    plan = plan_of("image-local-updates", local_steps=1, batch_rows=1_000, **options)
    pooled, local = (run(each, Panel.of([]), cohorts(alike)) for each in (alike, plan))
    weights = local["weights"]["weight"]
    np.testing.assert_allclose(weights, pooled["weights"]["weight"], rtol=0, atol=1e-11)
    assert "not those of training on the pooled images" in METHODS[plan.test].differs(plan)


def test_a_persons_images_are_clipped_together() -> None:
    """Against a loop over people, each image's gradient by backward."""
    plan = plan_of("private-image-network", epsilon=8.0, clip=0.5)
    table = cohorts(plan)[0]
    network = ImageNetwork((*SIZE, 3), KNCONV)
    weights = start(network, 0)
    question, module = SumClipped(plan, weights, 1), module_of(network, weights)
    each = []
    for person in np.unique(table.patients):
        total = np.zeros(network.size)
        for row in np.flatnonzero(table.patients == person):
            module.zero_grad()
            x = torch.tensor(table.images[row : row + 1], dtype=torch.float64) / 255
            functional.cross_entropy(module(x), torch.tensor(table.classes[row : row + 1])).backward()
            total += flat(part.grad for part in module.parameters())
        each.append(total)
    wanted = clipped(np.array(each), 0.5)
    found = np.concatenate(list(question._of_people(table)))
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 1  # a number may be rounded otherwise
    assert np.mean(found != wanted) < 1e-3


def test_a_study_asked_again_answers_alike() -> None:
    plan = plan_of("private-image-network", epsilon=8.0)
    table, network = cohorts(plan)[1], ImageNetwork((*SIZE, 3), KNCONV)
    question = SumClipped(plan, start(network, 0), 1)
    assert (question.local(table)["gradient"] == question.local(table)["gradient"]).all()


def test_the_files_of_a_study_become_a_module(tmp_path: Path) -> None:
    plan = plan_of("image-network", training_rounds=2, patience=0, learning_rate=0.001)
    results = run(plan, Panel.of([]), cohorts(plan))
    paths = [tmp_path / file for file in ("model", "weights")]
    for path in paths:
        path.write_bytes(written(path.name, plan, Panel.of([]), results))
    module, (images, _) = load(*paths), pool()
    assert (flat(module.parameters()) == results["weights"]["weight"]).all()
    ours = ImageNetwork((*SIZE, 3), KNCONV).scores(results["weights"]["weight"], images[:9])
    theirs = module(torch.tensor(images[:9], dtype=torch.float64) / 255).detach().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "options", "said"),
    [
        ("1x12x12", {"architecture": KNRESNET_18}, "16 by 16 pixels or more"),
        ("1x28x28", {"architecture": KNRESNET_18}, ""),
        ("1x12x12", {"architecture": KNRESNET_34}, "16 by 16 pixels or more"),
        ("1x8x8", {"architecture": KNRESNET_50}, ""),
        ("3x32x32", {"architecture": KNRESNET_13}, ""),
        ("1x28x28", {"architecture": KNRESNET_13, "optimizer": "lbfgs"}, "Adam or gradient descent"),
        ("1x28x28", {"architecture": KNCONV, "optimizer": "lbfgs"}, ""),
    ],
)
def test_a_plan_says_which_images_and_optimizer_a_network_takes(
    size: str, options: dict[str, Any], said: str
) -> None:
    plan = plan_of("image-network")
    schema = (replace(plan.schema[0], encoding=size), *plan.schema[1:])
    named = {"test": plan.test, "cohorts": 3, "compensator_key": NO_KEY, **usual(plan.test)}
    made = lambda: check(Plan(**{**named, **options}, schema=schema))  # noqa: E731
    if not said:
        made()
    else:
        with pytest.raises(PlanError, match=said):
            made()
