# Everything one does with this project; `make` alone lists it. Set-up happens by itself and is done once.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PORT ?=
SEARCH ?=
URL ?=
ARGS ?=
WORKERS ?= auto
UNUSED_BY_MODELS := flatbuffers packaging protobuf # only parts of onnxruntime import them that nobody calls
LITELLM := litellm==1.109.1
STAGES := lint,imports,docs unit contract,type,infra,audit,adapters e2e,stacks,searches

BIN := .venv/bin
PYTHON := $(BIN)/python
AGAIN := -m pytest -p tests.again
UV := $(BIN)/uv
DONE := .venv/.done
INSTALL := $(UV) pip install --quiet --python $(PYTHON) --require-hashes --only-binary :all:
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --only-binary :all: --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links $(ARGS)
export UV_NO_PROGRESS := 1
export UV_PYTHON_DOWNLOADS := never
unexport PYTHONDONTWRITEBYTECODE # where images set it, every process would compile the CDK and all else anew

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^## / {print "\n" substr($$0, 4)} /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Run it here
start: $(DONE)/infra ## Start the whole service on this machine, or update it in place (PORT=4600, SEARCH=dynamodb|opensearch)
	@$(PYTHON) -m infra.local start --port '$(PORT)' --search '$(SEARCH)'

stop: $(DONE)/infra ## Stop it; what it stores is kept
	@$(PYTHON) -m infra.local stop

reset: $(DONE)/infra ## Stop it and forget what it stores; its address and key stay (ARGS=--all: forget those too)
	@$(PYTHON) -m infra.local reset $(ARGS)

logs: $(DONE)/infra ## Follow the functions' logs (ARGS=--json: all that they log)
	@$(PYTHON) -m infra.local logs $(ARGS)

sam: $(DONE)/infra ## Write the files with which `sam local invoke` runs a function on the running stack's tables
	@$(PYTHON) -m infra.local sam $(ARGS)

demo: setup ## Watch a window overflow and be unfolded, another be flushed, and a new conversation recall it
	@$(PYTHON) -m examples.demo

## Check it
setup: $(DONE)/infra $(DONE)/dev $(DONE)/ranks engines ## Set up everything that development needs

engines: $(DONE)/infra
	@$(PYTHON) -m tests.engines.npm

test: ## The whole gate, stage by stage: what CI runs. Those joined by a comma run side by side, two at a time
	@times=; begun=$$SECONDS; status=0; mkdir -p .build; : > .build/flaky; export FLAKY_RECORD=$$PWD/.build/flaky; \
	for stage in setup $(STAGES); do \
		printf '\n== %s\n' $$stage; since=$$SECONDS; \
		$(MAKE) --no-print-directory --jobs 2 --output-sync=target $${stage//,/ } || status=$$?; \
		times+="$$stage $$((SECONDS - since))s, "; \
		[ $$status -eq 0 ] || { times+="failed there, "; break; }; \
	done; \
	echo; cat .build/flaky; printf '%sall %ss\n' "$$times" $$((SECONDS - begun)); exit $$status

lint: setup ## ruff: rules and format
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check

type: setup ## mypy --strict
	@$(BIN)/mypy

imports: setup ## Who may import whom
	@$(BIN)/lint-imports --no-logo

audit: setup ## Known weaknesses of what is locked; says so where the index that it asks knows nothing
	@$(PYTHON) -m infra.dependencies audit

docs: setup ## Build the site of docs/ into .build/site, and run what its pages and the README show
	@$(BIN)/pytest tests/documents $(ARGS)
	@echo 'The site is in .build/site; open .build/site/index.html.'

unit: setup ## Rules and use cases, properties included
	@$(BIN)/pytest tests/unit -n $(WORKERS) $(ARGS)

infra: setup ## The synthesized template
	@$(BIN)/pytest tests/infra $(ARGS)

contract: setup ## Every adapter of a port against its one suite
	@$(BIN)/pytest tests/contract -n $(WORKERS) $(ARGS)

adapters: setup ## Each agent framework, in an environment of its own, over its adapter
	@$(BIN)/pytest tests/adapters $(ARGS)

e2e: setup ## Through the front door of a local stack that it starts itself
	@$(PYTHON) $(AGAIN) tests/e2e -m 'not own_stack' $(ARGS)

stacks: setup ## What brings up stacks of its own: the README's lines on a fresh clone, the CDK's command line, make start
	@$(PYTHON) $(AGAIN) tests/e2e -m own_stack $(ARGS)

searches: setup ## What searches, end to end once more on a real OpenSearch, or on tables (SEARCH=dynamodb)
	@SEARCH=$(or $(SEARCH),opensearch) $(PYTHON) $(AGAIN) tests/e2e -m searches $(ARGS)

test-deep: setup ## Properties searched far deeper than in the gate
	@$(BIN)/pytest tests/unit --hypothesis-profile deep --timeout 1800 -n $(WORKERS) $(ARGS)

bench: setup ## Measure costs, growth, recall, throughput, cold start and sizes (ARGS="retrieval": a part)
	@$(PYTHON) -m benchmarks --write $(ARGS)

storm: setup ## Let users talk while everything goes wrong, and judge what was kept (ARGS="--minutes 60 --pause 15 --write")
	@$(PYTHON) -m benchmarks.storm $(ARGS)

load: setup ## Ramp up calls to an endpoint's knee: URL=https://… (key: PALIMPSEST_KEY), or else a local stack's
	@$(PYTHON) -m benchmarks.load.knee $(if $(URL),'$(URL)') $(ARGS)

train: setup ## Train recall's ranker on our labelled sets, and judge it on what was left out (ARGS=--judge: only that)
	@$(PYTHON) -m benchmarks.retrieval.ranking.train $(ARGS)
	@$(PYTHON) -m benchmarks.retrieval.ranking.answering $(ARGS)

ablate: setup ## Measure recall without each signal and each constant of its order, on our labelled sets (ARGS=--write: into the results too)
	@$(PYTHON) -m benchmarks.retrieval.ranking.ablation $(ARGS)

relate: setup ## Train how new statements are related to known ones (ARGS=--judge: only judge it on what was left out)
	@$(PYTHON) -m benchmarks.truth.relating.train $(ARGS)

lasting: setup ## Train which sentences mean something without their conversation (ARGS=--judge: only judge it on what was left out)
	@$(PYTHON) -m benchmarks.truth.lasting.train $(ARGS)

wishes: setup ## Train which sentences ask to keep words off the record (ARGS=--judge: only judge it on what was left out)
	@$(PYTHON) -m benchmarks.truth.wishes.train $(ARGS)

told: setup ## Train which sentences tell a secret without naming it (ARGS=--judge: only judge it on what was left out)
	@$(PYTHON) -m benchmarks.truth.told.train $(ARGS)

cost: setup ## Count what 1,000 turns ask of AWS and of models, at list prices (ARGS=--write: into the results too)
	@$(PYTHON) -m benchmarks cost $(ARGS)

client: setup ## Write what is generated of the client: its types, and the client that waits
	@$(PYTHON) layers/client/write_types.py
	@$(PYTHON) layers/client/write_blocking.py

format: setup ## Let ruff repair what it can
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

## Deploy and operate it
synth: $(DONE)/infra ## Synthesize the CloudFormation template, offline
	@$(PYTHON) -m infra.app

api-key: $(DONE)/infra ## Create, list or revoke API keys (ARGS="create --tenant acme")
	@$(PYTHON) -m infra.operate.api_keys $(ARGS)

key: $(DONE)/infra ## Store the OpenAI key that the workers read
	@$(PYTHON) -m infra.operate.openai_key $(ARGS)

secrets: $(DONE)/infra ## Show or set what becomes of secrets in messages (ARGS="--tenant acme --set mask")
	@$(PYTHON) -m infra.operate.secrets_rule $(ARGS)

status: $(DONE)/infra ## Show what is wrong: alarms, queues, dead letters (ARGS="--job ID", --errors, --refused: from the logs)
	@$(PYTHON) -m infra.operate.status $(ARGS)

sweep: $(DONE)/infra ## Run one round of the sweep, and let its schedule run again
	@$(PYTHON) -m infra.operate.sweep $(ARGS)

redrive: $(DONE)/infra ## Send what failed from the dead-letter queues through the queues again
	@$(PYTHON) -m infra.operate.redrive $(ARGS)

manifest: $(DONE)/infra ## Write a digest of every row of the tables: ARGS="--out tables.manifest"
	@$(PYTHON) -m infra.operate.manifest $(ARGS)

restore: $(DONE)/infra ## Restore the tables to one second, compare every row, and let them serve: ARGS="--at 2026-01-05T09:00:00Z"
	@$(PYTHON) -m infra.operate.restore $(ARGS)

rollback: $(DONE)/infra ## Let the functions go back to the versions before the last deployment (after `cdk deploy -c deploy=canary`)
	@$(PYTHON) -m infra.operate.rollback $(ARGS)

reindex: $(DONE)/infra ## Build the search index anew from the tables, while everything goes on
	@$(PYTHON) -m infra.operate.reindex $(ARGS)

## Keep it
lock: $(DONE)/infra ## Resolve the requirements files again (ARGS=--upgrade for newer versions)
	@$(COMPILE) --group installer -o requirements-installer.txt
	@$(COMPILE) --group runtime -o layers/runtime/requirements.txt
	@$(COMPILE) --group models -c layers/runtime/requirements.txt -o layers/models/requirements.txt
	@$(COMPILE) --group builtin -c layers/models/requirements.txt -c layers/runtime/requirements.txt \
		$(addprefix --no-emit-package ,$(UNUSED_BY_MODELS)) -o layers/builtin/requirements.txt
	@$(COMPILE) --group graph -o layers/graph/requirements.txt
	@$(COMPILE) --group tokens -c layers/runtime/requirements.txt -o layers/tokens/requirements.txt
	@$(COMPILE) --group traces -c layers/runtime/requirements.txt -o layers/traces/requirements.txt
	@$(COMPILE) layers/client/pyproject.toml -c layers/runtime/requirements.txt -c layers/models/requirements.txt \
		-o layers/client/requirements.txt
	@$(COMPILE) --group dev -c layers/runtime/requirements.txt -c layers/models/requirements.txt \
		-c layers/builtin/requirements.txt -c layers/graph/requirements.txt -c layers/tokens/requirements.txt -c layers/traces/requirements.txt \
		-c layers/client/requirements.txt -o requirements-dev.txt
	@$(COMPILE) --group infra -c requirements-dev.txt -o requirements-infra.txt
	@$(COMPILE) --group local -o requirements-local.txt
	@for python in 3.11 3.13; do for machine in x86_64 aarch64; do \
		$(UV) pip install --quiet --dry-run --no-deps --target .build/lock --require-hashes --only-binary :all: \
			--python-version $$python --python-platform $$machine-manylinux_2_28 \
			-r layers/runtime/requirements.txt -r layers/models/requirements.txt -r layers/builtin/requirements.txt \
			-r layers/graph/requirements.txt -r layers/tokens/requirements.txt -r layers/client/requirements.txt; \
	done; done

release: setup ## Build wheels, assembly, bill of materials, notes and checksums of this version, into .build/releases
	@$(PYTHON) -m infra.release

fixture: setup ## Keep data that this version writes in tests/releases, for the releases after it to read
	@$(PYTHON) -m tests.releases.write

sbom: setup ## Write the bill of materials of what is shipped: CycloneDX, from the locks, into .build/sbom.cdx.json
	@$(PYTHON) -m infra.dependencies sbom

catalogue: $(DONE)/infra ## Write the table of models' context windows and prices anew, from LiteLLM's
	@rm -rf .build/catalogue
	@$(PYTHON) -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest .build/catalogue $(LITELLM)
	@$(PYTHON) -m infra.model_catalogue .build/catalogue/*.whl

clean: ## Remove what was built; what the local service stores is kept
	@[ ! -x $(PYTHON) ] || $(PYTHON) -m infra.local stop || true
	rm -rf .build .venv .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

# Each stamp stands in the environment it speaks of, and goes with it.
$(DONE)/venv: requirements-installer.txt
	@python=$$(for each in python3.13 python3 python3.12 python3.11 python3.14; do \
		$$each -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done) \
		|| { echo 'Python 3.11 or newer with venv and pip is needed; none of python3.13, python3, python3.12 … is one.' >&2; exit 1; }; \
	echo "Setting up .venv with $$($$python --version)"; \
	$(PYTHON) -c '' 2>/dev/null || $$python -m venv --clear .venv
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r $<
	@mkdir -p $(@D) && touch $@

$(DONE)/infra: requirements-infra.txt $(DONE)/venv
	@echo 'Installing what synthesis and the local stack need'
	@$(INSTALL) -r $<
	@touch $@

$(DONE)/dev: requirements-dev.txt pyproject.toml $(DONE)/venv
	@echo 'Installing the tools of development, and the library in place'
	@$(INSTALL) -r $<
	@$(UV) pip install --quiet --python $(PYTHON) --no-deps --no-build-isolation --editable .
	@touch $@

$(DONE)/ranks: layers/runtime/ranks.py $(DONE)/dev
	@echo 'Installing the token tables'
	@$(PYTHON) $< $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
	@touch $@

.PHONY: help start stop reset logs sam demo setup engines test lint type imports docs audit unit infra contract adapters e2e stacks searches test-deep bench storm load train ablate relate lasting wishes told cost client format \
	synth api-key secrets key status sweep redrive manifest restore rollback reindex lock release fixture sbom catalogue clean
