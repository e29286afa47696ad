# cactus-actors: the commands one needs. `make demo` first, then the README.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
EXAMPLES ?= 2000
LOCK   := .venv-release/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock'
# uv finds versions that suit each other in seconds; pip takes a quarter of an hour for such sets of packages.
INSTALL := .venv-release/bin/uv pip install --quiet --python
SEED   := $(or $(SEED),$(shell date +%s))

# Tests start hundreds of processes: without bytecode on disk each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-cluster test slow arm clients lm-eval browser screenshots differential fuzz chaos chaos-root soak
.PHONY: check docs picture format
.PHONY: eval-model eval-escalation train train-pictures bench lock manifests sbom clean

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

$(VENV)/.runtime: pyproject.toml deploy/requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r deploy/requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime deploy/requirements-dev.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r deploy/requirements-dev.lock
	@touch $@

.venv-release/.ready: Makefile
	$(PYTHON) -m venv .venv-release
	.venv-release/bin/python -m pip install -q --disable-pip-version-check 'uv>=0.9' 'cyclonedx-bom>=7'
	@touch $@

# An environment of its own: litellm requires older versions of our other dependencies.
.venv-clients/.ready: pyproject.toml tests/clients/node/package.json | .venv-release/.ready
	$(PYTHON) -m venv .venv-clients
	$(INSTALL) .venv-clients -e '.[dev,clients]'
	! command -v npm || (cd tests/clients/node && npm install --silent --no-audit --no-fund)
	@touch $@

# Programs of clients that need older versions of the clients' own dependencies.
.venv-clients-apart/.ready: tests/clients/apart/requirements.txt
	$(PYTHON) -m venv .venv-clients-apart
	.venv-clients-apart/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# An environment of its own: only these targets need a browser, Debian's chromium (or CHROMIUM=PATH).
.venv-browser/.ready: pyproject.toml | .venv-release/.ready
	$(PYTHON) -m venv .venv-browser
	$(INSTALL) .venv-browser -e '.[dev,browser]'
	@touch $@

# An environment of its own: lm-eval brings datasets and transformers, in versions that it chooses.
.venv-lm-eval/.ready: pyproject.toml | .venv-release/.ready
	$(PYTHON) -m venv .venv-lm-eval
	$(INSTALL) .venv-lm-eval -e '.[dev,lm-eval]'
	@touch $@

# An environment of its own: PyTorch is large, and only this target needs it.
.venv-transformers/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-transformers
	.venv-transformers/bin/python -m pip install -q --disable-pip-version-check -e '.[dev,differential]'
	@touch $@

demo: $(VENV)/.runtime   ## install, serve the embedded model, run a prompt file, then repeat it on a Ray cluster
	$(BIN)/cactus demo

demo-cluster: $(VENV)/.dev ## answer a table of 20,000 rows on a Ray cluster that grows to three nodes and loses one
	$(BIN)/cactus demo --rows 20000

# Tests are idle for a quarter of the time: three processes keep two cores busy.
test: $(VENV)/.dev       ## all tests that need neither network nor root, seven to ten minutes
	$(BIN)/python -m pytest -q -m "not slow and not chaos" -n 3

clients: .venv-clients-apart/.ready
clients: .venv-clients/.ready ## other projects' clients, in Python, Node and Go, against a running service
	.venv-clients/bin/python -m pytest -q tests/clients

lm-eval: .venv-lm-eval/.ready ## EleutherAI's lm-eval on tasks made here; its scores are those of the SDK
	.venv-lm-eval/bin/python -m pytest -q tests/clients/test_lm_eval.py

browser: .venv-browser/.ready ## the page in headless Chromium, against a running service
	.venv-browser/bin/python -m pytest -q tests/browser

screenshots: .venv-browser/.ready ## draw the pictures of the page for the documents
	.venv-browser/bin/python -m docs.generate.screenshots

differential: .venv-transformers/.ready ## compare EXAMPLES random tiny models (SEED) with transformers
	.venv-transformers/bin/python -m tests.differential --seed $(SEED) --examples $(EXAMPLES)

fuzz: $(VENV)/.dev       ## damage all input, EXAMPLES times per test, drawn from SEED
	@echo "seed $(SEED), $(EXAMPLES) examples per test"
	FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -q tests/fuzz tests/unit -k "fuzz or Machine" \
		--hypothesis-profile=fuzz --hypothesis-seed=$(SEED)

slow: $(VENV)/.dev       ## slow tests: every format compiled, a hub, the security tests under python -O
	$(BIN)/python -m pytest -q -m slow -n 2 --ignore=tests/fuzz

arm: $(VENV)/.dev        ## kernels for ARM under QEMU: Debian's qemu-user, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross
	$(BIN)/python -m pytest -q tests/numerics/test_arm.py

# test_starvation runs alone: its 100 busy processes would make Ray's start time out in parallel tests.
STARVING := tests/cluster/test_starvation.py

chaos: $(VENV)/.dev      ## kill, stop and starve a running service, without root, for minutes
	$(BIN)/python -m pytest -q -m chaos -n 2 --ignore=tests/chaos/root --ignore=$(STARVING)
	$(BIN)/python -m pytest -q -m chaos $(STARVING)

chaos-root: $(VENV)/.dev ## break network links, fill disks, limit memory: needs root, namespaces, strace
	$(BIN)/python -m pytest -q tests/chaos/root

soak: $(VENV)/.dev       ## half an hour of random work and random faults; a checker verifies the history
	$(BIN)/python -m tests.chaos.soak --minutes 30

check: $(VENV)/.dev      ## lint, format, types, import contracts; CI runs this and `make test`
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

picture: $(VENV)/.dev    ## write the README's picture of a terminal, from a run of the demo
	$(BIN)/python -m docs.generate.terminal_picture

docs: $(VENV)/.dev       ## write the generated reference pages, after a change of commands, settings or errors
	$(BIN)/python -m docs.generate

manifests: $(VENV)/.dev  ## write deploy/kubernetes/ from the Helm chart, after a change of the chart
	$(BIN)/python -m docs.generate.manifests

format: $(VENV)/.dev     ## format the code for `make check`
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

eval-model: $(VENV)/.dev ## accuracy by kind and AUROC of the embedded model's confidence
	$(BIN)/python -m training.evaluate

eval-escalation: $(VENV)/.dev ## figures and pictures of handing off, and how often its bounds hold
	$(BIN)/python -m training.handwritten
	$(BIN)/python -m benchmarks.escalation.curves --pictures docs/guide/images
	$(BIN)/python -m benchmarks.escalation.served
	$(BIN)/python -m benchmarks.escalation.prompt_gate
	$(BIN)/python -m benchmarks.escalation.bound --embedded
	$(BIN)/python -m benchmarks.escalation.bound --embedded --max-error 0.1
	$(BIN)/python -m benchmarks.escalation.cascade_bound
	$(BIN)/python -m benchmarks.escalation.drift

# PyTorch is faster on CPUs if threads stay on their cores, and if freed memory stays mapped.
train train-pictures: export OMP_PROC_BIND = close
train train-pictures: export MALLOC_MMAP_THRESHOLD_ = 4000000000
train train-pictures: export MALLOC_TRIM_THRESHOLD_ = 8000000000

train:                   ## train the embedded model again (hours; needs PyTorch, see training/README.md)
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/python -m pip install -q -r training/requirements.txt
	.venv-train/bin/python -m training.train

train-pictures:          ## train the model that answers questions about pictures (hours; as above)
	$(PYTHON) -m venv .venv-train
	.venv-train/bin/python -m pip install -q -r training/requirements.txt
	.venv-train/bin/python -m training.pictures.train

bench: $(VENV)/.dev      ## end-to-end tokens/s at 1, 4 and 16 concurrent jobs, and time outside the kernels
	$(BIN)/python -m benchmarks.end_to_end

lock: .venv-release/.ready ## update versions and hashes of all dependencies, within pyproject.toml
	$(LOCK) pyproject.toml --extra ray -o deploy/requirements.lock
	$(LOCK) pyproject.toml --extra dev -c deploy/requirements.lock -o deploy/requirements-dev.lock

sbom: .venv-release/.ready ## write sbom.json: the contents of an installation from the lock files, in CycloneDX
	$(PYTHON) -m venv --clear .venv-release/runtime
	.venv-release/runtime/bin/python -m pip install -q --disable-pip-version-check --require-hashes \
		-r deploy/requirements.lock
	.venv-release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
		-o sbom.json .venv-release/runtime/bin/python

clean:                   ## remove the files that these commands made
	rm -rf $(VENV) .venv-train .venv-browser .venv-clients .venv-clients-apart .venv-lm-eval
	rm -rf .venv-transformers .venv-release build *.egg-info demo-results* sbom.json
