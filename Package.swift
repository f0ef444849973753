// swift-tools-version: 6.2
// A target is a room, and an arrow is a dependency declared here: the build runs with
// `--explicit-target-dependency-import-check error`, which refuses any other. docs/ARCHITECTURE.md says what each room promises.
import PackageDescription

/// Planted faults, for the simulation to find (docs/HACKING.md): in debug builds, and when `make sim` sets the variable; never in
/// a shipped program.
let planting: SwiftSetting =
    Context.environment["PLANTED_FAULTS"] == nil
    ? .define("PLANTED_FAULTS", .when(configuration: .debug)) : .define("PLANTED_FAULTS")

let strict: [SwiftSetting] = [
    planting,
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Rooms whose speed no person notices are optimised for size: the program has a size limit (`make size-check`).
let forSize: [SwiftSetting] = strict + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// A pure room: no I/O, no clock, no randomness, and no unsafe pointer.
func pureRoom(
    _ name: String, at path: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = strict
) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: settings + [.strictMemorySafety()])
}

/// A room that touches the outside, or depends on one that does.
func room(_ name: String, at path: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

/// A room optimised for size.
func smallRoom(_ name: String, at path: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: forSize)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

let package = Package(
    name: "sophon-bridge",
    products: [.executable(name: "sophon-bridge", targets: ["sophon-bridge"])],
    targets: [
        // C borders.
        .systemLibrary(
            name: "CCurl", path: "Sources/C/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CMicrohttpd", path: "Sources/C/CMicrohttpd", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CWslay", path: "Sources/C/CWslay", providers: [.apt(["libwslay-dev"])]),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/C/COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CPosix", path: "Sources/C/CPosix"),
        .systemLibrary(
            name: "CSQLite", path: "Sources/C/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(
            name: "CSimdjson", path: "Sources/C/CSimdjson",
            cxxSettings: [.unsafeFlags(["-O2", "-fno-exceptions", "-Wall", "-Wextra", "-Werror"])],
            linkerSettings: [.linkedLibrary("simdjson"), .linkedLibrary("stdc++")]),
        // Files of the phone page, embedded by the compiler's `#embed` (C23).
        .target(
            name: "CPhonePage", path: "Sources/C/CPhonePage", exclude: ["page"],
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-Wno-c23-extensions"])]),

        // Other embedded files of the project, and the versions of the libraries.
        .target(
            name: "CEmbedded",
            dependencies: ["CCurl", "CMicrohttpd", "COpenSSL", "CSQLite", "CSimdjson", "CWslay"],
            path: "Sources/C/CEmbedded",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-Wno-c23-extensions"])]),

        // The project's only lock, below every room with threads.
        room("Locking", at: "Sources/Outside/Locks", []),
        // Starting a thread, waking one that polls, deadlines.
        room("OSThreads", at: "Sources/Outside/Threads", ["CPosix"]),

        // Pure rooms.
        pureRoom("Vocabulary", at: "Sources/Bridge/Vocabulary"),
        pureRoom("BridgeCore", at: "Sources/Bridge/Core", ["Vocabulary"]),
        pureRoom("RelayRules", at: "Sources/Simulator/Rules", [], forSize),
        pureRoom("Sealing", at: "Sources/Bridge/Sealing", ["Vocabulary"]),
        pureRoom("Metrics", at: "Sources/Bridge/Metrics", [], forSize),

        // Protocols and formats.
        room("JSONReading", at: "Sources/Outside/JSON", ["Vocabulary", "CSimdjson"]),
        smallRoom("ConfigurationFile", at: "Sources/Bridge/Settings", ["Vocabulary"]),
        room("Links", at: "Sources/Bridge/Links", ["Vocabulary", "Locking"]),
        room("RelayProtocol", at: "Sources/Bridge/Relay", ["Vocabulary", "JSONReading", "Locking"]),
        room("Recording", at: "Sources/Bridge/Recording", ["Vocabulary", "CSimdjson"]),

        // WebSocket: the protocol without I/O, and the thread that carries one open connection over any pipe.
        room(
            "WebSocketCodec", at: "Sources/Outside/WebSocketCodec", ["Vocabulary", "CWslay", "CSimdjson", "COpenSSL"]),
        room(
            "WebSocketLoop", at: "Sources/Outside/WebSocketLoop",
            ["Vocabulary", "Locking", "OSThreads", "WebSocketCodec"]),

        // Edges.
        room(
            "Transport", at: "Sources/Outside/HTTP",
            ["Vocabulary", "CCurl", "CPosix", "Locking", "OSThreads", "WebSocketCodec", "WebSocketLoop"]),
        room(
            "LocalServer", at: "Sources/Simulator/HTTPServer",
            ["Vocabulary", "Locking", "OSThreads", "WebSocketCodec", "WebSocketLoop", "CMicrohttpd"]),
        room("Attachments", at: "Sources/Outside/Downloads", ["Vocabulary", "CCurl", "Files", "Locking", "OSThreads"]),
        room("Children", at: "Sources/Outside/Processes", ["Vocabulary", "CPosix", "Locking", "OSThreads"]),
        room("Crypto", at: "Sources/Outside/Crypto", ["Vocabulary", "COpenSSL"]),
        room("Files", at: "Sources/Outside/Files", ["Vocabulary", "CPosix", "Locking", "Sealing", "OSThreads"]),
        room("Journal", at: "Sources/Outside/Journal", ["Vocabulary", "Locking", "CSQLite"]),

        // The interface of agents, each agent in a room of its own, and the list of them.
        room("AgentKit", at: "Sources/Agents/Kit", ["Vocabulary", "ConfigurationFile", "JSONReading", "Links"]),
        room(
            "OpenClaw", at: "Sources/Agents/OpenClaw",
            ["AgentKit", "Vocabulary", "ConfigurationFile", "Crypto", "Files", "JSONReading", "Links", "Locking"]),
        room(
            "Oppi", at: "Sources/Agents/Oppi",
            ["AgentKit", "Vocabulary", "ConfigurationFile", "JSONReading", "Links", "Locking"]),
        // One conversation for all agents that run as a child per chat.
        smallRoom(
            "ConversationEngine", at: "Sources/Agents/Engine", ["AgentKit", "Vocabulary", "JSONReading", "Links"]),
        smallRoom(
            "Pi", at: "Sources/Agents/Pi",
            ["AgentKit", "ConversationEngine", "Vocabulary", "ConfigurationFile", "JSONReading", "Locking"]),
        smallRoom(
            "Codex", at: "Sources/Agents/Codex",
            ["AgentKit", "Vocabulary", "ConfigurationFile", "JSONReading", "Links", "Locking"]),
        smallRoom(
            "Claude", at: "Sources/Agents/Claude",
            ["AgentKit", "ConversationEngine", "Vocabulary", "ConfigurationFile", "JSONReading", "Locking"]),
        smallRoom("Agents", at: "Sources/Agents/Registry", ["AgentKit", "Claude", "Codex", "OpenClaw", "Oppi", "Pi"]),
        room(
            "LeastAgent", at: "Tests/Support/Least",
            ["AgentKit", "ConversationEngine", "Vocabulary", "ConfigurationFile", "JSONReading"]),

        // The runner of agents' machines, and its work on files, programs and HTTP.
        room("AgentHosting", at: "Sources/Agents/Host", ["AgentKit", "Vocabulary", "Locking"]),
        room(
            "AgentWork", at: "Sources/Agents/Work",
            ["AgentKit", "Vocabulary", "Children", "Files", "Locking", "OSThreads", "Transport"]),

        // The service, the simulated relay, the doubles.
        room(
            "BridgeService", at: "Sources/Bridge/Service",
            [
                "AgentKit", "Vocabulary", "BridgeCore", "ConfigurationFile", "Files", "Links", "Metrics",
                "RelayProtocol",
                "Recording",
                "Locking", "Sealing", "OSThreads",
            ]),
        smallRoom(
            "Simulator", at: "Sources/Simulator/Server",
            ["Vocabulary", "RelayRules", "LocalServer", "Locking", "CPhonePage"]),
        room(
            "Worlds", at: "Tests/Support/World",
            [
                "AgentKit", "Vocabulary", "BridgeCore", "BridgeService", "Claude", "Codex", "Crypto", "AgentHosting",
                "Links", "OpenClaw", "Oppi", "Pi", "RelayRules", "RelayProtocol", "Recording", "Locking", "Sealing",
            ]),
        // A bare HTTP client, a peer in Python and a few ways to wait, for tests over sockets.
        room("WireTesting", at: "Tests/Support/Wire", ["Locking"]),
        pureRoom("Commands", at: "Sources/Programs/Commands", ["Vocabulary"], forSize),
        .executableTarget(
            name: "sophon-bridge",
            dependencies: [
                "AgentKit", "AgentWork", "Agents", "Attachments", "BridgeCore", "Vocabulary", "BridgeService",
                "CEmbedded", "CPosix", "Children", "Commands", "ConfigurationFile", "Crypto", "Files", "AgentHosting",
                "Journal",
                "Links",
                "LocalServer",
                "Locking", "Metrics", "Recording", "RelayProtocol", "RelayRules", "Sealing", "Simulator", "OSThreads",
                "Transport",
            ], path: "Sources/Programs/sophon-bridge",
            swiftSettings: forSize),

        // `make sim`: many seeds of the simulation, in release.
        .executableTarget(
            name: "simulate-seeds", dependencies: ["Vocabulary", "Worlds"],
            path: "Sources/Programs/simulate-seeds", swiftSettings: strict),

        // `make bench`: measurements that need the project's own code; scripts/bench compares the results.
        .executableTarget(
            name: "bridge-bench",
            dependencies: [
                "BridgeCore", "Vocabulary", "BridgeService", "Crypto", "Journal", "Locking", "Recording",
                "RelayProtocol", "Sealing", "Transport",
            ], path: "Sources/Programs/bridge-bench",
            swiftSettings: strict),

        // One test target per room.
        tests("LockingTests", ["Locking"]),
        tests("VocabularyTests", ["Vocabulary"]),
        tests("BridgeCoreTests", ["Vocabulary", "BridgeCore", "Worlds"]),
        tests("CommandsTests", ["Vocabulary", "Commands"]),
        tests("MetricsTests", ["Metrics"]),
        tests(
            "PipelineTests",
            [
                "AgentKit", "Agents", "BridgeCore", "Vocabulary", "BridgeService", "CSQLite", "Journal", "Locking",
                "Pi", "Recording", "RelayRules", "Simulator", "Transport",
            ],
            exclude: ["Golden"]),
        tests(
            "LiveTests",
            [
                "AgentKit", "BridgeCore", "Vocabulary", "BridgeService", "Worlds", "OpenClaw", "RelayProtocol",
                "RelayRules", "Sealing",
            ]),
        tests("WorldsTests", ["BridgeCore", "Vocabulary", "Worlds"]),
        // The session machine, and the bridge behind it, against a scripted gateway on virtual time.
        tests(
            "GatewayTests",
            ["AgentKit", "BridgeCore", "Vocabulary", "BridgeService", "Worlds", "OpenClaw", "RelayRules"]),
        tests("RelayRulesTests", ["Vocabulary", "Worlds", "RelayRules"]),
        tests(
            "AgentsTests",
            [
                "AgentKit", "Agents", "Vocabulary", "Worlds", "Claude", "Codex", "ConfigurationFile",
                "ConversationEngine", "JSONReading", "LeastAgent", "Links", "OpenClaw", "Oppi", "Pi", "Recording",
            ],
            exclude: ["Golden"]),
        tests("AgentWorkTests", ["AgentKit", "AgentWork", "Vocabulary", "Children", "WireTesting"]),
        // Every agent against its own double.
        tests(
            "ContractTests",
            [
                "AgentKit", "AgentWork", "Agents", "BridgeCore", "Vocabulary", "BridgeService", "Worlds",
                "Children", "Claude", "Codex", "ConfigurationFile", "AgentHosting", "Locking", "OpenClaw",
                "Oppi", "Pi",
                "Recording",
                "RelayRules",
                "Transport",
                "WireTesting",
                "LeastAgent",
            ]),
        tests(
            "AgentHostingTests",
            ["AgentKit", "Vocabulary", "Worlds", "AgentHosting", "Locking", "OSThreads", "WireTesting"]),
        tests("RelayProtocolTests", ["Vocabulary", "Worlds", "RelayProtocol"]),
        tests("RecordingTests", ["Vocabulary", "Recording"]),
        tests("FilesTests", ["Vocabulary", "Files", "Locking", "OpenClaw", "Sealing", "OSThreads"]),
        tests("JournalTests", ["Vocabulary", "CSQLite", "Journal", "Locking", "WireTesting"]),
        // Journals of earlier programs, read by this one.
        tests("UpgradeTests", ["BridgeCore", "Vocabulary", "BridgeService", "Crypto", "Journal", "Sealing"]),
        tests("CryptoTests", ["Vocabulary", "Crypto"]),
        tests("SealingTests", ["Vocabulary", "Crypto", "Locking", "RelayProtocol", "Sealing", "WireTesting"]),
        tests("AttachmentsTests", ["Attachments", "Vocabulary", "Files", "Locking", "OSThreads", "WireTesting"]),
        tests("ChildrenTests", ["Vocabulary", "CPosix", "Children", "Locking", "OSThreads", "WireTesting"]),
        tests("WebSocketCodecTests", ["Vocabulary", "WebSocketCodec"]),
        tests("TransportTests", ["Vocabulary", "Locking", "RelayProtocol", "Transport", "WireTesting"]),
        tests("LocalServerTests", ["Vocabulary", "LocalServer", "Locking", "OSThreads", "Transport", "WireTesting"]),
        tests(
            "SimulatorTests",
            ["Vocabulary", "Simulator", "RelayRules", "LocalServer", "Locking", "Transport", "WireTesting"]),
        tests(
            "BridgeServiceTests",
            [
                "AgentKit", "Agents", "BridgeCore", "Vocabulary", "BridgeService", "Worlds", "ConfigurationFile",
                "Crypto", "Files", "Links", "Locking", "Metrics", "OpenClaw", "Oppi", "Pi", "RelayProtocol",
                "Sealing",
            ]),

        // The project as a whole: bans, links, files in no target.
        tests("TidyTests", []),
    ],
    cxxLanguageStandard: .cxx17
)
