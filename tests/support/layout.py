"""Who may know whom: the arrows of framework/docs/architecture.md, for check_dependencies.py."""

# Each module and the modules below it that it is built on. Arrows reach through: what a module is
# built on, it may include, and so may those above it.
ARROWS = {
    "base": [],
    "runtime": ["base"],
    "wire": ["base"],
    "location": ["runtime", "wire"],
    "mesh": ["runtime", "wire"],
    "objects": ["location", "mesh"],
    "stream": ["objects"],
    "node": ["stream"],
    "store/sqlite": ["runtime"],
    "store/redis": ["runtime"],
    "net": ["runtime"],
    "host": ["node", "net", "store/sqlite", "store/redis"],
    "client": ["wire", "net"],
    "testing": ["node"],
}

# Single headers of other modules that a module may include besides: the seams that it implements.
SEAMS = {
    "store/sqlite": ["location/store.hpp"],
    "store/redis": ["location/store.hpp"],
    "net": ["mesh/transport.hpp", "stream/client_links.hpp"],
}

# The lowest module that may include a public header. Headers below spotmesh/testing/ and
# spotmesh/client/ belong to those modules.
PUBLIC_HEADERS = {
    "base": ["boxed", "bytes", "codec/builder", "codec/decoder", "codec/encoder",
             "codec/traits", "codec/verifier", "error", "ids", "limits", "message", "packet",
             "packet_view", "time", "version"],
    "runtime": ["task", "timer"],
    "wire": ["actor_ref_json"],
    "objects": ["actor", "actor_handlers", "actors", "application", "calls", "closing", "context",
                "create_calls", "decision", "factories", "handlers", "invoke", "join", "logger",
                "message_context", "object_server", "publish", "published", "registration",
                "relocation",
                "results", "session", "session_handlers", "signatures", "spot", "spots",
                "timer_control", "worker_call"],
    "host": ["host", "settings", "spotmesh"],
}

# What a tool may include of the framework. The visualizer sees the cluster through the admin
# endpoint alone.
TOOLS = {
    "packetc": ["base", "wire"],
    "cli": ["client"],
    "load": ["client"],
    "visualizer": [],
}

# These never touch the world; they reach it through the seams they are handed.
WORLD_FREE = ["base", "runtime", "wire", "location", "mesh", "objects", "stream", "node"]

# Third-party headers by prefix, and the path prefixes that may include them.
THIRD_PARTY = {
    "boost/": ["framework/net/", "framework/host/admin", "framework/store/redis/event_loop",
               "tests/unit/net/", "tests/unit/client/beast_", "tests/fuzz/"],
    "sqlite3.h": ["framework/store/sqlite/", "tests/unit/store_sqlite/"],
    "hiredis/": ["framework/store/redis/", "tests/unit/store_redis/"],
    "imgui": ["tools/visualizer/"],
    "GLFW/": ["tools/visualizer/"],
    "GL/": ["tools/visualizer/"],
    "openssl/": ["framework/net/", "framework/mesh/secret", "tools/packetc/"],
    "toml++/": ["framework/host/"],
    "spdlog/": ["framework/host/", "tools/"],
    "CLI/": ["framework/host/", "tools/", "samples/", "tests/simulation/", "tests/bench/",
             "tests/e2e/"],
    "prometheus/": ["framework/host/"],
    "nlohmann/": ["framework/wire/", "framework/host/", "tools/", "tests/", "samples/"],
    "fmt/": ["framework/", "tools/", "samples/", "tests/"],
    "location_generated.h": ["framework/location/"],
    "peer_messages_generated.h": ["framework/objects/peer_"],
    "stream_handshake_generated.h": ["framework/wire/stream_handshake"],
    "flatbuffers/": ["framework/", "tools/", "samples/", "tests/"],
    "catch2/": ["tests/", "samples/"],
    "rapidcheck": ["tests/"],
    "sanitizer/": ["tests/"],
    "benchmark/": ["tests/bench/"],
}
# Headers of the C library and the system; every other header with a dot or a folder is third-party.
SYSTEM_HEADERS = [
    "arpa/", "fcntl.h", "linux/", "malloc.h", "netdb.h", "netinet/", "poll.h", "pthread.h",
    "signal.h", "spawn.h", "stdio.h", "sys/", "time.h", "unistd.h",
]
# The only third-party headers that public headers may include.
PUBLIC_THIRD_PARTY = ["flatbuffers/"]

# Headers of the world, closed to world-free modules and to testing/.
WORLD_HEADERS = [
    "thread", "future", "condition_variable", "semaphore", "latch", "barrier", "random", "ctime",
    "time.h", "unistd.h", "fcntl.h", "poll.h", "signal.h", "csignal", "pthread.h", "netdb.h",
    "sys/", "netinet/", "arpa/", "linux/",
]
# Files and streams are closed to world-free modules; testing/ may write reports.
FILE_HEADERS = ["fstream", "filesystem", "iostream", "cstdio", "stdio.h"]

# Calls into the world, as regular expressions over code without comments and literals.
WORLD_CALLS = {
    "a clock": r"\b(?:system|steady|high_resolution|utc|file)_clock\s*::\s*now\b"
               r"|\bclock_gettime\s*\(|\bgettimeofday\s*\(|\bstd\s*::\s*time\s*\(",
    "a thread": r"\bstd\s*::\s*(?:j?thread\b|this_thread\b|async\s*\()|\bpthread_\w+\s*\(",
    "randomness": r"\brandom_device\b|\bmt19937(?:_64)?\b|\bs?rand\s*\(\s*\)|\bgetrandom\s*\(",
    "the environment": r"\bgetenv\s*\(",
}
