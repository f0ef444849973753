/// A banned construct, the rooms it is banned in, and its replacement.
struct Ban: CustomStringConvertible {
    var what: String
    /// The replacement, shown to whoever broke the ban.
    var instead: String
    var rooms: Rooms
    /// Every line that breaks the ban contains one of these.
    var words: [String]
    /// Lines that break the ban, and lines that only look like it: a test tries both.
    var bad: [String]
    var good: [String]
    /// Whether comments are searched too. Most bans let comments name a banned construct.
    var holdsInComments = false
    private let pattern: @Sendable () -> Regex<Substring>

    var description: String { what }

    enum Rooms {
        case all
        case only(Set<String>)
        case except(Set<String>)
    }

    /// Rooms that `Package.swift` calls pure: no I/O, no clock, no randomness.
    static let pure: Set = ["Vocabulary", "BridgeCore", "RelayRules", "Commands", "Sealing", "Metrics"]

    init(
        _ what: String, instead: String, in rooms: Rooms, words: [String], bad: [String], good: [String] = [],
        holdsInComments: Bool = false,
        _ pattern: @escaping @Sendable () -> Regex<Substring>
    ) {
        self.what = what
        self.instead = instead
        self.rooms = rooms
        self.words = words
        self.bad = bad
        self.good = good
        self.holdsInComments = holdsInComments
        self.pattern = pattern
    }

    func found(in source: SourceText) -> [Untidiness] {
        guard holds(in: source) else { return [] }
        // Unicode's default rules see no word boundary at the dot of `Foundation.Date`.
        let expression = pattern().wordBoundaryKind(.simple)
        let lines = source.lines(with: words).filter { holdsInComments || !$0.text.drop { $0 == " " }.hasPrefix("//") }
        return lines.filter { $0.text.firstMatch(of: expression) != nil }.map {
            Untidiness(path: source.path, line: $0.number, what: "\(what) is not allowed here: \(instead)")
        }
    }

    private func holds(in source: SourceText) -> Bool {
        switch rooms {
        case .all: true
        case .only(let rooms): source.room.map(rooms.contains) ?? false
        case .except(let rooms): source.room.map { !rooms.contains($0) } ?? true
        }
    }

    /// Rooms that read text of the far side.
    static let outsideReaders: Set = [
        "AgentKit", "Claude", "Codex", "JSONReading", "LocalServer", "OpenClaw", "Oppi", "Pi", "Recording",
        "RelayProtocol", "Sealing",
        "Transport", "WebSocketCodec", "WebSocketLoop",
    ]

    private static let programs: Set = ["sophon-bridge", "simulate-seeds", "bridge-bench"]

    static let all: [Ban] = [
        Ban(
            "Date()", instead: "take the moment as an argument, `now:`; at an edge, ask SystemClock", in: .all,
            words: ["Date("], bad: ["let a = Date()", "Date( )", "Foundation.Date()"],
            good: ["let a: Date", "update()", "lastDate()"]
        ) { /\bDate\( *\)/ },
        Ban(
            "the clock of the machine", instead: "take the moment as an argument, `now:`", in: .only(pure),
            words: [".now", "Clock", "gettime"],
            bad: ["let a = clock.now", "ContinuousClock()", "Date.now", "clock_gettime(1, &t)", ".now + 3"],
            good: ["now: now", "let now = a", "self.nowhere", "state.nowadays"]
        ) { /\.now\b|\b(?:Continuous|Suspending)Clock\b|\bclock_gettime\b|\bgettimeofday\b/ },
        Ban(
            "sleeping", instead: "set a timer of the Alarm, and in tests move the clock by hand",
            in: .except(["sophon-bridge", "bridge-bench"]),
            words: ["sleep"],
            bad: ["try await Task.sleep(for: a)", "usleep(5)", "nanosleep(&a, &b)", "sleep(3)", "Thread.sleep(1)"],
            good: ["bucket.sleep(until: a, at: b)", "func sleep(until: Instant)", "asleep(1)"]
        ) { /\b(?:Task|Thread)\.sleep\b|\b(?:usleep|nanosleep)\(|(?:^|[^.\w])sleep\((?!until)/ },
        Ban(
            "a wait by the wall clock", instead: "wait on a condition variable made for CLOCK_MONOTONIC",
            in: .except(["WireTesting"]), words: ["sem_timedwait"], bad: ["while sem_timedwait(a, &until) != 0 {}"],
            good: ["sem_wait(a)", "pthread_cond_timedwait(a, b, &until)"]
        ) { /\bsem_timedwait\b/ },
        Ban(
            "randomness of its own", instead: "take the generator as an argument, `using: &random`",
            in: .only(pure),
            words: [".random", ".shuffle", "SystemRandom", "UUID"],
            bad: ["Int.random(in: 1...3)", "list.shuffled()", "list.randomElement()", "SystemRandomNumberGenerator()"],
            good: ["Int.random(in: 1...3, using: &random)", "list.shuffled(using: &random)", "randomly()"]
        ) {
            /\.random\((?!.*using:)|\.shuffled?\( *\)|\.randomElement\( *\)|\bSystemRandomNumberGenerator\b|\bUUID\( *\)/
        },
        Ban(
            "print(", instead: "return the text; the programs write it, through Output", in: .except(programs),
            words: ["rint("], bad: ["print(1)", "    print(\"x\")", "debugPrint(a)"],
            good: ["reprint(a)", "self.fingerprint(a)"]
        ) { /(?:^|[^.\w])(?:debugPrint|print)\(/ },
        Ban(
            "whole Foundation", instead: "import FoundationEssentials, or the C library", in: .all,
            words: ["Foundation"],
            bad: ["import Foundation", "internal import Foundation", "import FoundationNetworking"],
            good: ["import FoundationEssentials", "package import FoundationEssentials"]
        ) { /\bimport +Foundation(?!Essentials\b)/ },
        Ban(
            "the outside in a pure room", instead: "make it a port of Vocabulary, and do it at an edge",
            in: .only(pure),
            words: ["import"], bad: ["import Glibc", "import Dispatch", "package import FoundationEssentials"],
            good: ["import Vocabulary", "importGlibc()"]
        ) { /\bimport +(?:Glibc|Musl|Darwin|Dispatch|Synchronization|Foundation\w*)\b/ },
        Ban(
            "a number from outside without a range",
            instead: "read it with FrameNode.integer(in:), integer(clampedTo:) or number(in:)",
            in: .except(["JSONReading", "CSimdjson", "Recording"]), words: ["sb_node_"],
            bad: ["sb_node_integer(node, &value)", "if sb_node_double(a, &b) {"], good: ["sb_node_string(a, &b)"]
        ) { /\bsb_node_(?:integer|double)\b/ },
        Ban(
            "a double from outside",
            instead: "use OutsideNumber: 1e308 traps where it becomes an integer or a duration",
            in: .only(outsideReaders), words: ["Double("], bad: ["let a = Double(text)", "Double( text)"],
            good: ["Double.self", "takesDouble(a)", "let a: Double"]
        ) { /\bDouble\(/ },
        Ban(
            "an integer made of a double", instead: "use OutsideNumber.rounded, or Int64(exactly:)",
            in: .only(outsideReaders), words: ["Int"],
            bad: [
                "Int64(seconds * 1e9)", "Int(date.timeIntervalSince1970)", "Int64((a * 2.0).rounded())",
                "Int(value * 1.5)",
            ],
            good: ["Int64(exactly: a.rounded())", "Int(text)", "Int64(seconds * 1_000)", "UInt64(count)"]
        ) { /\bU?Int(?:64|32|16|8)?\((?!exactly:)[^,]*(?:\.rounded\(|\* *\d+(?:\.\d|e\d)|timeInterval)/ },
        Ban(
            "a forced try", instead: "throw on, or handle the error", in: .all,
            words: ["try!"], bad: ["let a = try" + "! b()"], good: ["try? b()", "try b()"]
        ) { /\btry\!/ },
        Ban(
            "a forced cast", instead: "use `as?` and handle nil", in: .all,
            words: ["as!"], bad: ["a as" + "! Int"], good: ["a as? Int", "#expect(!alas)"]
        ) { /\bas\!/ },
        Ban(
            "public", instead: "write `package`: nothing of this package is for others", in: .all,
            words: ["public", "open"], bad: ["public func a()", "    public let b = 1", "open class C"],
            good: ["publicly()", "let a = \"public \""]
        ) { /^ *(?:@\w+ +)*(?:public|open) +(?:\w+ +)*(?:func|let|var|struct|class|enum|init|protocol|import)\b/ },
        Ban(
            "a task that nobody waits for", instead: "add it to a task group", in: .all,
            words: ["Task"], bad: ["Task {", "Task.detached {", "let a = Task { b() }"],
            good: ["group.addTask {", "finishTask {"]
        ) { /(?:^|[^.\w])Task(?:\.detached)? *\{/ },
        Ban(
            "an intention without an issue", instead: "do it, or open an issue and name it", in: .all,
            words: ["TODO", "FIXME", "XXX"], bad: ["let a = 1 // TO" + "DO later", "/* FIX" + "ME */", "// TO" + "DO"],
            good: ["mastodon", "todo()"],
            holdsInComments: true
        ) { /\b(?:TODO|FIXME|XXX)\b/ },
    ]
}
