# `make demo` runs a whole study on this machine; `make test` runs every test. Both set themselves up.
.PHONY: demo test check bench bench-memory bench-tables docs clean
PY := .venv/bin/python

demo:
	@scripts/setup
	@.venv/bin/unpooled demo $(ARGS)

test:
	@scripts/setup dev
	@scripts/test-programs
	@$(if $(ARGS),,scripts/test-frontend test)
	@$(PY) -m pytest $(ARGS)

check:
	@scripts/setup dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@scripts/typecheck
	@scripts/test-frontend check

bench:
	@scripts/setup
	@OPENBLAS_NUM_THREADS=1 $(PY) bench/kernels.py
	@$(PY) bench/pictures.py
	@$(PY) bench/association.py $(ARGS)

bench-tables:
	@scripts/setup dev
	@$(PY) bench/normalization.py $(ARGS)

bench-memory:
	@scripts/setup
	@$(PY) bench/memory.py $(ARGS)

docs:
	@scripts/setup dev
	@$(PY) -m sphinx -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf .venv docs/_build frontend/node_modules webapp/src/unpooled_webapp/static/app
