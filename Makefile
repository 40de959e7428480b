# `make demo` runs a whole study on this machine; `make test` runs every test. Both set themselves up.
# `make test-here` is the part of it on SQLite without a broker, `make test-services` that on PostgreSQL, Redis, Celery.
# `make fuzz ARGS="gwas --count 2000"` compares random federations with the pool, `make fuzz ARGS="api --count 60"`
# sends what nobody foresaw (tests/fuzz). `make mutants` says whether the tests find seeded faults (tests/mutants).
# `make bundle` and `make freeze` pack the client (docs/install-client.md).
# `make lock`, `make sbom` and `make audit`: what the distributions need (CONTRIBUTING.md, docs/operations.md).
.PHONY: demo test test-here test-services wire fuzz mutants check check-python bench bench-parts bench-memory bench-tables measured docs bundle freeze release lock sbom audit clean
PY := .venv/bin/python
# Each file in one process: its tests share what is dear to start.
SIDE_BY_SIDE := -n auto --dist loadfile --no-loadscope-reorder
# Beside others a test computes in one thread: those of BLAS wait for one another without leaving the core.
test test-here test-services wire mutants: export OMP_NUM_THREADS := 1
# What they write by the gigabyte, each file durably, stays in memory where there is room and programs may lie.
ROOMY := $(shell findmnt -nbo AVAIL,OPTIONS /dev/shm 2>/dev/null | awk '$$1 > 12e9 && !/noexec/ {print "/dev/shm"; exit}')
test test-here test-services: export TMPDIR := $(or $(ROOMY),$(TMPDIR),/tmp)

demo:
	@scripts/setup demo
	@.venv/bin/unpooled demo $(ARGS)

test:
	@scripts/setup dev
	@scripts/test-programs
	@$(if $(ARGS),$(PY) -m pytest $(ARGS),scripts/test-frontend test)
	@$(if $(ARGS),,$(MAKE) -s test-here test-services)

test-here:
	@$(PY) -m pytest $(SIDE_BY_SIDE)

# Where a service is missing, 4 is what pytest ends with; in CI that is a failure.
test-services:
	@$(PY) -m pytest $(SIDE_BY_SIDE) --services $$(grep -rl --include='*.py' 'mark\.services' tests */tests) || \
		[ $$? = 4 -a -z "$$CI" ]

wire:
	@scripts/setup dev
	@scripts/test-programs
	@$(PY) -m pytest --wire tests/oracles tests/wire $(ARGS)
	@$(PY) -m pytest --every-trust tests/contract/test_trusts.py $(ARGS)

fuzz:
	@scripts/setup dev
	@scripts/test-programs
	@$(PY) -m tests.fuzz $(ARGS)

mutants:
	@scripts/setup dev
	@scripts/test-programs
	@$(PY) -m tests.mutants $(ARGS)

check: check-python
	@scripts/test-frontend check

check-python:
	@scripts/setup dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@.venv/bin/lint-imports --no-cache >/dev/null || .venv/bin/lint-imports --no-cache
	@scripts/typecheck
	@$(PY) scripts/house headless

bench:
	@scripts/setup
	@$(PY) bench/association.py $(ARGS)
	@$(if $(ARGS),,$(MAKE) --no-print-directory bench-parts)

bench-parts:
	@OPENBLAS_NUM_THREADS=1 $(PY) bench/kernels.py
	@$(PY) bench/starting.py
	@$(PY) bench/pictures.py
	@$(PY) bench/few_cases.py
	@$(PY) bench/asked.py
	@$(PY) bench/polygenic.py
	@$(PY) bench/components.py --variants 20000 --samples 5000
	@$(PY) bench/relatives.py --variants 20000 --samples 5000 --cohorts 3
	@OPENBLAS_NUM_THREADS=1 $(PY) bench/comparing.py

bench-tables:
	@scripts/setup dev
	@$(PY) bench/normalization.py $(ARGS)
	@$(PY) bench/dictionary.py
	@$(PY) bench/slow_line.py

bench-memory:
	@scripts/setup
	@$(PY) bench/memory.py $(ARGS)

measured:
	@scripts/setup dev
	@scripts/test-programs
	@$(PY) docs/measuring.py

docs:
	@scripts/setup dev
	@$(PY) -m sphinx -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bundle:
	@scripts/setup
	@$(PY) packaging/bundle.py $(ARGS)

freeze:
	@scripts/setup dev
	@$(PY) packaging/freeze.py $(ARGS)
	@$(PY) -m pytest tests/test_frozen.py --frozen dist/unpooled-client

release:
	@scripts/setup
	@$(PY) packaging/release.py $(ARGS)

lock:
	@scripts/setup
	@scripts/supply-chain lock $(ARGS)

sbom:
	@scripts/setup
	@scripts/supply-chain sbom $(ARGS)

audit:
	@scripts/setup
	@scripts/supply-chain audit $(ARGS)

clean:
	rm -rf dist .venv docs/_build frontend/node_modules webapp/src/unpooled_webapp/static/app
