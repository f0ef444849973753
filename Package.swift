// swift-tools-version: 6.2
// A target is a room; an arrow is a dependency written here, and nowhere else: the build is run with
// `--explicit-target-dependency-import-check error`. docs/ARCHITECTURE.md says what each room promises.
import PackageDescription

/// Faults on purpose, for the simulation to find (docs/HACKING.md): in debug builds and where `make sim` sets the variable, never in
/// what is shipped.
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

/// A pure room: no I/O, no clock, no randomness, and no pointer either.
func pureRoom(_ name: String, at path: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict + [.strictMemorySafety()])
}

/// A room that touches the outside, or leans on one that does.
func room(_ name: String, at path: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: path, swiftSettings: strict)
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
        // The files of the phone page, by the compiler's own `#embed`, which C has since C23.
        .target(
            name: "CPhonePage", path: "Sources/C/CPhonePage", exclude: ["page"],
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-Wno-c23-extensions"])]),

        // Other files of the project that the program carries, in the same way.
        .target(
            name: "CEmbedded", path: "Sources/C/CEmbedded",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-Wno-c23-extensions"])]),

        // The one lock of the project; below everything that has threads.
        room("Locking", at: "Sources/Outside/Locks", []),
        // Starting a thread, waking one that polls, deadlines.
        room("Threads", at: "Sources/Outside/Threads", ["CPosix"]),

        // Pure rooms.
        pureRoom("BridgeModel", at: "Sources/Bridge/Model"),
        pureRoom("BridgeCore", at: "Sources/Bridge/Core", ["BridgeModel"]),
        pureRoom("RelayRules", at: "Sources/Simulator/Rules"),
        pureRoom("Sealing", at: "Sources/Bridge/Sealing", ["BridgeModel"]),

        // Protocols and formats.
        room("JSONReading", at: "Sources/Outside/JSON", ["BridgeModel", "CSimdjson"]),
        room("Configuring", at: "Sources/Bridge/Settings", ["BridgeModel"]),
        room("Links", at: "Sources/Bridge/Links", ["BridgeModel", "Locking"]),
        room("RelayProtocol", at: "Sources/Bridge/Relay", ["BridgeModel", "JSONReading", "Locking"]),
        room("Recording", at: "Sources/Bridge/Recording", ["BridgeModel", "CSimdjson"]),

        // WebSocket: the protocol without I/O, and the thread that carries one open connection over any pipe.
        room(
            "WebSocketCodec", at: "Sources/Outside/WebSocketCodec", ["BridgeModel", "CWslay", "CSimdjson", "COpenSSL"]),
        room(
            "WebSocketLoop", at: "Sources/Outside/WebSocketLoop",
            ["BridgeModel", "Locking", "Threads", "WebSocketCodec"]),

        // Edges.
        room(
            "Transport", at: "Sources/Outside/HTTP",
            ["BridgeModel", "CCurl", "CPosix", "Locking", "Threads", "WebSocketCodec", "WebSocketLoop"]),
        room(
            "LocalServer", at: "Sources/Simulator/HTTPServer",
            ["BridgeModel", "Locking", "Threads", "WebSocketCodec", "WebSocketLoop", "CMicrohttpd"]),
        room("Attachments", at: "Sources/Outside/Downloads", ["BridgeModel", "CCurl", "Files", "Locking", "Threads"]),
        room("Children", at: "Sources/Outside/Processes", ["BridgeModel", "CPosix", "Locking", "Threads"]),
        room("Crypto", at: "Sources/Outside/Crypto", ["BridgeModel", "COpenSSL"]),
        room("Files", at: "Sources/Outside/Files", ["BridgeModel", "Locking", "Sealing", "Threads"]),
        room("Journal", at: "Sources/Outside/Journal", ["BridgeModel", "Locking", "CSQLite"]),

        // What any agent is to the bridge, each agent in a room of its own, and the list of them.
        room("AgentKit", at: "Sources/Agents/Kit", ["BridgeModel", "Configuring", "JSONReading", "Links"]),
        room(
            "OpenClaw", at: "Sources/Agents/OpenClaw",
            ["AgentKit", "BridgeModel", "Configuring", "Crypto", "Files", "JSONReading", "Links", "Locking"]),
        room(
            "Oppi", at: "Sources/Agents/Oppi",
            ["AgentKit", "BridgeModel", "Configuring", "JSONReading", "Links", "Locking"]),
        room("Pi", at: "Sources/Agents/Pi", ["AgentKit", "BridgeModel", "Configuring", "JSONReading", "Locking"]),
        room(
            "Codex", at: "Sources/Agents/Codex",
            ["AgentKit", "BridgeModel", "Configuring", "JSONReading", "Links", "Locking"]),
        room("Agents", at: "Sources/Agents/Registry", ["AgentKit", "Codex", "OpenClaw", "Oppi", "Pi"]),
        room("ToySocket", at: "Tests/Support/ToySocket", ["AgentKit", "BridgeModel", "Configuring", "JSONReading"]),
        room(
            "ToyChildren", at: "Tests/Support/ToyChildren", ["AgentKit", "BridgeModel", "Configuring", "JSONReading"]),

        // What carries any agent's machine, and what its work touches.
        room("Hosting", at: "Sources/Agents/Host", ["AgentKit", "BridgeModel", "Locking"]),
        room(
            "AgentWork", at: "Sources/Agents/Work",
            ["AgentKit", "BridgeModel", "Children", "Files", "Locking", "Threads", "Transport"]),

        // The service, the relay to develop against, the doubles.
        room(
            "BridgeService", at: "Sources/Bridge/Service",
            [
                "AgentKit", "BridgeModel", "BridgeCore", "Configuring", "Files", "Links", "RelayProtocol", "Recording",
                "Locking", "Sealing", "Threads",
            ]),
        room(
            "Simulator", at: "Sources/Simulator/Server",
            ["BridgeModel", "RelayRules", "LocalServer", "Locking", "CPhonePage"]),
        room(
            "BridgeTesting", at: "Tests/Support/World",
            [
                "AgentKit", "BridgeModel", "BridgeCore", "BridgeService", "Codex", "Crypto", "Hosting", "Links",
                "OpenClaw",
                "Oppi", "Pi", "RelayRules", "RelayProtocol", "Recording", "Locking", "Sealing",
            ]),
        // A bare HTTP client, a peer in Python and a few ways to wait, for the tests of what goes over sockets.
        room("WireTesting", at: "Tests/Support/Wire", ["Locking"]),
        pureRoom("Commands", at: "Sources/Programs/Commands", ["BridgeModel"]),
        .executableTarget(
            name: "sophon-bridge",
            dependencies: [
                "AgentKit", "AgentWork", "Agents", "Attachments", "BridgeCore", "BridgeModel", "BridgeService",
                "CEmbedded", "Children", "Commands", "Configuring", "Crypto", "Files", "Hosting", "Journal", "Links",
                "LocalServer",
                "Locking", "Recording", "RelayProtocol", "RelayRules", "Sealing", "Simulator", "Threads",
                "Transport",
            ], path: "Sources/Programs/sophon-bridge",
            swiftSettings: strict),

        // `make sim`: many seeds of the simulation, in release.
        .executableTarget(
            name: "simulate-seeds", dependencies: ["BridgeModel", "BridgeTesting"],
            path: "Sources/Programs/simulate-seeds", swiftSettings: strict),

        // `make bench`: what needs our own code; scripts/bench compares.
        .executableTarget(
            name: "bridge-bench",
            dependencies: [
                "BridgeCore", "BridgeModel", "BridgeService", "Crypto", "Journal", "Locking", "Recording",
                "RelayProtocol", "Sealing", "Transport",
            ], path: "Sources/Programs/bridge-bench",
            swiftSettings: strict),

        // A test target a room.
        tests("LockingTests", ["Locking"]),
        tests("BridgeModelTests", ["BridgeModel"]),
        tests("BridgeCoreTests", ["BridgeModel", "BridgeCore", "BridgeTesting"]),
        tests("CommandsTests", ["BridgeModel", "Commands"]),
        tests(
            "PipelineTests",
            [
                "AgentKit", "Agents", "BridgeCore", "BridgeModel", "BridgeService", "CSQLite", "Journal", "Locking",
                "Pi", "Recording", "RelayRules", "Simulator", "Transport",
            ],
            exclude: ["Golden"]),
        tests(
            "LiveTests",
            [
                "AgentKit", "BridgeCore", "BridgeModel", "BridgeService", "BridgeTesting", "OpenClaw", "RelayProtocol",
                "RelayRules", "Sealing",
            ]),
        tests("SimulationTests", ["BridgeCore", "BridgeModel", "BridgeTesting"]),
        // The session machine, and the bridge behind it, against a scripted gateway on virtual time.
        tests(
            "GatewayTests",
            ["AgentKit", "BridgeCore", "BridgeModel", "BridgeService", "BridgeTesting", "OpenClaw", "RelayRules"]),
        tests("RelayRulesTests", ["BridgeModel", "BridgeTesting", "RelayRules"]),
        tests(
            "AgentsTests",
            [
                "AgentKit", "Agents", "BridgeModel", "BridgeTesting", "Codex", "JSONReading", "Links", "OpenClaw",
                "Oppi", "Pi", "Recording",
            ],
            exclude: ["Golden"]),
        tests("AgentWorkTests", ["AgentKit", "AgentWork", "BridgeModel", "Children", "WireTesting"]),
        // Every agent against its own double; the toys are for these alone.
        tests(
            "ContractTests",
            [
                "AgentKit", "AgentWork", "Agents", "BridgeCore", "BridgeModel", "BridgeService", "BridgeTesting",
                "Children", "Codex", "Configuring", "Hosting", "Locking", "OpenClaw", "Oppi", "Pi", "Recording",
                "RelayRules",
                "Transport",
                "WireTesting",
                "ToySocket",
                "ToyChildren",
            ]),
        tests(
            "HostingTests",
            ["AgentKit", "BridgeModel", "BridgeTesting", "Hosting", "Locking", "Threads", "WireTesting"]),
        tests("RelayProtocolTests", ["BridgeModel", "BridgeTesting", "RelayProtocol"]),
        tests("RecordingTests", ["BridgeModel", "Recording"]),
        tests("FilesTests", ["BridgeModel", "Files", "Locking", "OpenClaw", "Sealing", "Threads"]),
        tests("JournalTests", ["BridgeModel", "CSQLite", "Journal", "Locking", "WireTesting"]),
        // Journals of earlier programs, read by this one.
        tests("UpgradeTests", ["BridgeCore", "BridgeModel", "BridgeService", "Crypto", "Journal", "Sealing"]),
        tests("CryptoTests", ["BridgeModel", "Crypto"]),
        tests("SealingTests", ["BridgeModel", "Crypto", "Locking", "RelayProtocol", "Sealing", "WireTesting"]),
        tests("AttachmentsTests", ["Attachments", "BridgeModel", "Files", "Locking", "Threads", "WireTesting"]),
        tests("ChildrenTests", ["BridgeModel", "CPosix", "Children", "Locking", "Threads", "WireTesting"]),
        tests("WebSocketCodecTests", ["BridgeModel", "WebSocketCodec"]),
        tests("TransportTests", ["BridgeModel", "Locking", "RelayProtocol", "Transport", "WireTesting"]),
        tests("LocalServerTests", ["BridgeModel", "LocalServer", "Locking", "Threads", "Transport", "WireTesting"]),
        tests(
            "SimulatorTests",
            ["BridgeModel", "Simulator", "RelayRules", "LocalServer", "Locking", "Transport", "WireTesting"]),
        tests(
            "BridgeServiceTests",
            [
                "AgentKit", "Agents", "BridgeCore", "BridgeModel", "BridgeService", "BridgeTesting", "Configuring",
                "Crypto", "Files", "Links", "Locking", "OpenClaw", "Oppi", "Pi", "RelayProtocol", "Sealing",
            ]),

        // The project as a whole: bans, links, files in no target.
        tests("TidyTests", []),
    ],
    cxxLanguageStandard: .cxx17
)
