"""The data behind the servers that the corpus uses: generated here, so that answers can be computed
from it without any server.
"""

import csv
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
from pathlib import Path

# Many servers start at once, perhaps on a machine that has other things to do.
CONNECT_TIMEOUT = 120

COUNTRIES = ["Austria", "Brazil", "Canada", "Denmark", "Estonia", "France"]
CATEGORIES = ["books", "games", "garden", "kitchen", "music"]
STATUSES = ["open", "paid", "shipped", "cancelled"]
FIRST = ["Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ivo", "Jun"]
LAST = ["Moreau", "Nakata", "Okafor", "Petrov", "Quist", "Rossi", "Silva", "Tamm"]

_random = random.Random(29)
customers = [
    {
        "id": number,
        "name": f"{FIRST[number % 10]} {LAST[number % 8]}",
        "country": _random.choice(COUNTRIES),
        "since": f"20{_random.randint(18, 25)}-{_random.randint(1, 12):02}-{_random.randint(1, 28):02}",
        "email": f"{FIRST[number % 10].lower()}{number}@{_random.choice(['mail', 'post'])}.example",
    }
    for number in range(1, 41)
]
products = [
    {
        "id": number,
        "name": f"{_random.choice(['Small', 'Large', 'Fine', 'Old'])} {category[:-1]} {number}",
        "category": category,
        "price_cents": _random.randint(3, 90) * 50 - 1,
        "stock": _random.randint(0, 60),
    }
    for number, category in enumerate(CATEGORIES * 5, 1)
]
orders = [
    {
        "id": number,
        "customer_id": _random.randint(1, 36),
        "product_id": _random.randint(1, 25),
        "quantity": _random.randint(1, 9),
        "day": f"2026-{_random.randint(1, 6):02}-{_random.randint(1, 28):02}",
        "status": _random.choice(STATUSES),
    }
    for number in range(1, 301)
]
employees = [
    {
        "name": f"{FIRST[(number * 3) % 10]} {LAST[(number * 5) % 8]}",
        "department": _random.choice(["Sales", "Support", "Research"]),
        "salary": _random.randint(38, 95) * 1000,
        "skills": sorted(_random.sample(["go", "java", "python", "rust", "sql"], 2)),
        "manager": None if number == 0 else number // 4,
    }
    for number in range(24)
]
requests = [
    {
        "time": f"2026-05-{_random.randint(1, 7):02}T{_random.randint(0, 23):02}:{_random.randint(0, 59):02}:00Z",
        "ip": f"10.0.0.{_random.randint(1, 12)}",
        "path": _random.choice(["/", "/cart", "/login", "/search", "/api/items"]),
        "status": _random.choice([200, 200, 200, 200, 301, 404, 500]),
        "ms": _random.randint(3, 900),
    }
    for _ in range(250)
]
notes = {
    "2026-01-plan.md": "# Plan\n\n- [x] hire\n- [ ] move office\n- [ ] new logo\n\nOwner: Hana\n",
    "2026-02-retro.md": "# Retro\n\nThe release slipped by a week.\n\n- [x] write tests\n- [x] fix build\n\nOwner: Ivo\n",
    "2026-03-ideas.md": "# Ideas\n\nTODO: ask customers\nTODO: read the survey\n\nOwner: Hana\n",
}
settings = {"server": {"host": "shop.example", "port": 8443}, "features": {"beta": True, "limit": 25}}

commits = [
    ("Ada", "engine.txt", "gears", "Draw the engine"),
    ("Grace", "compiler.txt", "words", "Write a compiler"),
    ("Ada", "engine.txt", "levers", "Add levers"),
    ("Zoe", "notes.txt", "ideas", "Take notes"),
    ("Grace", "compiler.txt", "grammar", "Fix the grammar"),
    ("Ada", "README.md", "# Machines", "Say what this is"),
    ("Zoe", "notes.txt", "more ideas", "Fix typos in notes"),
    ("Ada", "engine.txt", "steam", "Fix the boiler"),
]

entities = [
    {"name": "Atlas", "entityType": "project", "observations": ["began in 2024", "written in Rust"]},
    {"name": "Borealis", "entityType": "project", "observations": ["began in 2025", "written in Python"]},
    {"name": "Cirrus", "entityType": "project", "observations": ["began in 2023", "written in Rust", "is late"]},
    {"name": "Hana", "entityType": "person", "observations": ["lives in Tallinn", "speaks Estonian"]},
    {"name": "Ivo", "entityType": "person", "observations": ["lives in Porto"]},
    {"name": "Jun", "entityType": "person", "observations": ["lives in Tallinn", "speaks Japanese", "likes tea"]},
    {"name": "Farah", "entityType": "person", "observations": []},
]
relations = [
    {"from": "Hana", "to": "Atlas", "relationType": "leads"},
    {"from": "Ivo", "to": "Atlas", "relationType": "works_on"},
    {"from": "Jun", "to": "Atlas", "relationType": "works_on"},
    {"from": "Jun", "to": "Borealis", "relationType": "leads"},
    {"from": "Farah", "to": "Cirrus", "relationType": "leads"},
    {"from": "Ivo", "to": "Cirrus", "relationType": "works_on"},
    {"from": "Borealis", "to": "Atlas", "relationType": "depends_on"},
]


def table(rows):
    """Rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_database(path):
    """Writes customers, products and orders as an SQLite database."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        for name, rows in (("customers", customers), ("products", products), ("orders", orders)):
            columns = ", ".join(
                f"{key} {'INTEGER' if isinstance(value, int) else 'TEXT'}" for key, value in rows[0].items()
            )
            database.execute(f"CREATE TABLE {name} ({columns})")
            places = ", ".join("?" * len(rows[0]))
            database.executemany(f"INSERT INTO {name} VALUES ({places})", [tuple(row.values()) for row in rows])
    database.close()


def write_files(folder):
    """Writes the folder of the filesystem server."""
    for entry in folder.iterdir() if folder.exists() else ():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (folder / "notes").mkdir(parents=True)
    (folder / "logs").mkdir()
    (folder / "empty").mkdir()
    (folder / "orders.csv").write_text(table(orders))
    (folder / "products.csv").write_text(table(products))
    (folder / "employees.json").write_text(json.dumps(employees, indent=2))
    (folder / "settings.json").write_text(json.dumps(settings))
    lines = [f'{it["time"]} {it["ip"]} GET {it["path"]} {it["status"]} {it["ms"]}ms' for it in requests]
    (folder / "logs/access.log").write_text("\n".join(lines) + "\n")
    (folder / "customers.jsonl").write_text("".join(json.dumps(it) + "\n" for it in customers))
    for name, text in notes.items():
        (folder / "notes" / name).write_text(text)


def write_repository(folder):
    """Makes the repository of the git server."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _git(folder, "nobody", 0, "init", "--quiet", "--initial-branch=main")
    for hour, (author, file, line, subject) in enumerate(commits):
        path = folder / file
        path.write_text((path.read_text() if path.exists() else "") + line + "\n")
        _git(folder, author, hour, "add", ".")
        _git(folder, author, hour, "commit", "--quiet", "--message", subject)
    _git(folder, "nobody", 0, "branch", "draft", "HEAD~3")
    (folder / "engine.txt").write_text("gears\nlevers\nsteam\nsmoke\n")
    (folder / "todo.txt").write_text("paint\n")


def _git(folder, author, hour, *arguments):
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    for role in ("AUTHOR", "COMMITTER"):
        environment[f"GIT_{role}_NAME"] = author
        environment[f"GIT_{role}_EMAIL"] = f"{author.lower()}@example.com"
        environment[f"GIT_{role}_DATE"] = f"2026-01-02T1{hour}:00:00+00:00"
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)


def write_graph(path):
    """Writes the graph of the memory server."""
    lines = [{"type": "entity", **it} for it in entities] + [{"type": "relation", **it} for it in relations]
    path.write_text("\n".join(json.dumps(it) for it in lines))


class World:
    """The published servers over this data, in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.files = self.folder / "files"
        self.repository = self.folder / "repository"
        self.database = self.folder / "data.sqlite"
        self.graph = self.folder / "memory.jsonl"
        self.journal = self.folder / "journal.jsonl"
        self._committed = self.folder / "committed"
        write_repository(self._committed)
        self.reset()

    def reset(self):
        """Undoes what programs changed."""
        self.files.mkdir(parents=True, exist_ok=True)
        write_database(self.database)
        write_files(self.files)
        shutil.rmtree(self.repository, ignore_errors=True)
        shutil.copytree(self._committed, self.repository)
        write_graph(self.graph)
        self.journal.unlink(missing_ok=True)

    def configuration(self, services):
        """The `mcpServers` of a gateway: the published servers, and services of the benchmark."""
        interop = Path(os.environ["QUALITY_INTEROP"])
        packages = interop / "npm/node_modules/@modelcontextprotocol"

        def node(name, *arguments, **environment):
            main = str(packages / f"server-{name}/dist/index.js")
            return {"command": os.environ["QUALITY_NODE"], "args": [main, *arguments], "env": environment}

        sqlite = str(interop / "sdk-1/bin/mcp-server-sqlite")
        servers = {
            "files": node("filesystem", str(self.files)),
            "memory": node("memory", MEMORY_FILE_PATH=str(self.graph)),
            "everything": node("everything"),
            "time": {
                "command": str(interop / "servers/bin/mcp-server-time"),
                "args": ["--local-timezone", "UTC"],
            },
            "git": {"command": str(interop / "servers/bin/mcp-server-git")},
            "sqlite": {"command": sqlite, "args": ["--db-path", str(self.database)]},
        }
        for service in services:
            servers[service] = service_entry(service, self.journal)
        return {name: {**it, "connect_timeout_seconds": CONNECT_TIMEOUT} for name, it in servers.items()}


def service_entry(service, journal):
    """A service of the benchmark's workplace."""
    arguments = ["--service", service, "--journal", str(journal)]
    return {"command": os.environ["WORKPLACE_SERVER"], "args": arguments}
