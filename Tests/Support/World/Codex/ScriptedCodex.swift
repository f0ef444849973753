import AgentKit
package import Vocabulary

/// Codex's app-server on virtual time, written from codex.md without code of the bridge: a process with its sockets,
/// and threads on a disk that outlives it.
package final class ScriptedCodex: ScriptedAgent {
    /// How one Codex differs from another.
    package struct Habits: Sendable {
        /// A person runs the server and the bridge joins it. Otherwise the bridge starts it.
        package var isNamed = false
        /// Time from the start of the process until it listens.
        package var startup = Duration.milliseconds(130)
        /// Milliseconds from the answer to a prompt until the turn begins.
        package var beginning: ClosedRange<Int64> = 10...60
        /// Share of asks that are questions instead of approvals.
        package var choices = 0.0
        /// Share of asks that another client answers.
        package var elsewhere = 0.0
        /// Share of interrupts that a turn ignores.
        package var ignoresStops = 0.0
        /// Share of turns whose end is not reported (codex.md#known-bugs).
        package var losesEnds = 0.0
        /// Share of frames with a frame before them that concerns no chat.
        package var noise = 0.0
        /// Share of allowed calls that ask again under the same item, and of lists of turns that come late.
        package var asksAgain = 0.0
        package var lateLists = 0.0
        /// Share of a Stop's requests that Codex refuses for now.
        package var refusesStops = 0.0
        /// Tricks to draw from for each approval. If empty, approvals are as Codex makes them.
        package var tricks: [CodexTrick] = []

        package init() {}

        package static func drawn(using random: inout SeededGenerator) -> Habits {
            var habits = Habits()
            habits.isNamed = random.happens(0.4)
            habits.startup = .milliseconds(random.pick([30, 130, 130, 400, 3_000]))
            habits.beginning = random.pick([10...60, 10...60, 10...60, 300...900])
            habits.choices = random.pick([0, 0, 0.5, 1])
            habits.elsewhere = random.pick([0, 0, 0, 0.7])
            habits.ignoresStops = random.pick([0, 0.3, 0.6, 1, 1])
            habits.losesEnds = random.pick([0, 0, 0, 0.4])
            habits.noise = random.pick([0, 0, 0.1])
            return habits
        }
    }

    package var scripts: [String: GatewayScript] = [:]
    package internal(set) var asked: [AgentAsked] = []
    package internal(set) var decided: [AgentDecided] = []
    /// Allowed commands that ran, in order.
    package internal(set) var executed: [AgentExecuted] = []
    package internal(set) var breaches: [String] = []
    /// Lines that the server's programs wrote to the log that the bridge gave them.
    package private(set) var log: [UInt8] = []
    package internal(set) var questions: Set<String> = []
    package let tally = HabitTally()
    package internal(set) var decidedElsewhere: [String: Bool] = [:]
    /// Prompts whose answer died with the server's process or got mixed with another prompt's.
    var lost: Set<String> = []
    /// Prompts that Codex accepted and no list shows yet.
    var unwritten: Set<String> = []
    var stubborn: Set<String> = []
    /// First prompts of threads made after one was deleted.
    var withoutPast: Set<String> = []
    var ends: [String: Instant] = [:]
    var rollouts: [CodexRollout] = []
    var process: CodexProcess?
    var counts = Counts()
    var troubles = Troubles()
    var sight = CodexSight()
    let time: VirtualTime
    let habits: Habits
    var random: SeededGenerator
    /// A separate generator, so draws for Stops change no other draw.
    private var stopRandom: SeededGenerator

    struct Counts {
        var threads = 0
        var turns = 0
        var items = 0
    }

    /// Temporary troubles.
    struct Troubles {
        var loggedOutUntil = Instant.zero
        /// Drops every request before this moment, without an answer.
        var mutedUntil = Instant.zero
        var slowUntil = Instant.zero
        /// Number of requests still to refuse.
        var overloads = 0
        /// Number of turns whose end will not be reported.
        var lostEnds = 0
        var hasLostThread = false
    }

    package init(_ time: VirtualTime, _ habits: Habits = Habits(), seed: UInt64 = 1) {
        self.time = time
        self.habits = habits
        random = SeededGenerator(seed: seed)
        stopRandom = SeededGenerator(seed: seed ^ 0x7374_6F70)
        if habits.isNamed { start(nil) }
    }

    package var isBusy: Bool { process?.threads.values.contains { $0.turn != nil } ?? false }
    package func endedAt(_ prompt: String) -> Instant? { ends[prompt] }
    package func isLost(_ prompt: String) -> Bool { lost.contains(prompt) }
    package func ignoresStop(_ prompt: String) -> Bool { stubborn.contains(prompt) }
    package var refusesStops: Bool { habits.refusesStops > 0 }
    package func mayLackPast(_ prompt: String) -> Bool { withoutPast.contains(prompt) }
    package func isUnwritten(_ prompt: String) -> Bool { unwritten.contains(prompt) }

    // MARK: The process

    /// `program` is the child that the bridge started, or nil if a person started the server.
    func start(_ program: DoubleLine?) {
        let new = CodexProcess(program)
        process = new
        guard program != nil else {
            new.isListening = true
            return
        }
        time.after(habits.startup) { new.isListening = true }
    }

    /// SIGKILL: turns stop where they are, and only the disk remains.
    func kill() {
        guard let process else { return }
        self.process = nil
        for thread in process.loaded {
            if let turn = thread.turn { die(turn) }
            thread.turn = nil
        }
        rollouts.removeAll { $0.file == .absent }
        for (_, client) in process.clients.sorted(by: { $0.key < $1.key }) { client.line.end(isCut: true) }
        process.program?.end(isCut: true)
    }

    /// A killed turn reads as interrupted, without `completedAt`. Its streamed text is lost.
    private func die(_ turn: CodexServedTurn) {
        turn.status = "interrupted"
        (turn.message, turn.tool, turn.waitsFor) = (nil, nil, nil)
        lost.formUnion(turn.prompts)
    }

    // MARK: Sockets and programs

    package func opened(_ line: DoubleLine) -> Bool {
        guard !line.arguments.contains("app-server") else {
            guard process == nil else {
                // The server has no pipe for standard error, so the complaint goes to the log.
                log += Array("Error: app-server control socket is already in use\n".utf8)
                line.end(.failed(words: ""))
                return true
            }
            start(line)
            return true
        }
        guard let process, process.isListening else { return false }
        process.clients[line.number] = CodexProcess.Client(line: line)
        return true
    }

    package func ended(_ line: DoubleLine) {
        guard let process else { return }
        if let program = process.program, program === line { return kill() }
        process.clients[line.number] = nil
        for thread in process.loaded where thread.subscribers.remove(line.number) != nil { considerUnloading(thread) }
    }

    package func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard process?.clients[line.number] != nil else { return }
        guard let frame = GatewayValue.parse(bytes), frame.isObject else {
            return breaches.append("no frame: \(String(decoding: bytes, as: UTF8.self))")
        }
        process?.clients[line.number]?.inbox.append(frame)
        work(line.number)
    }

    private func work(_ number: Int) {
        guard let process, process.clients[number]?.isWorking == false,
            let frame = process.clients[number]?.inbox.popFirst()
        else { return }
        guard time.now < troubles.slowUntil else {
            take(frame, on: number)
            return work(number)
        }
        process.clients[number]?.isWorking = true
        time.after(.milliseconds(Int64.random(in: 0...2_000, using: &random))) { [self] in
            guard self.process === process, process.clients[number] != nil else { return }
            process.clients[number]?.isWorking = false
            take(frame, on: number)
            work(number)
        }
    }

    private func take(_ frame: GatewayValue, on number: Int) {
        guard let method = frame["method"]?.string else { return answered(frame, on: number) }
        guard let id = frame["id"] else {
            if method != "initialized" { breaches.append("notification \(method)") }
            return
        }
        if time.now < troubles.mutedUntil { return }
        guard let params = frame["params"], params.isObject else {
            breaches.append("\(method) has no params")
            return refuse(id, "Invalid request: missing field `params`", on: number)
        }
        if method == "initialize" { return greet(id, params, on: number) }
        guard process?.clients[number]?.isGreeted == true else { return refuse(id, "Not initialized", on: number) }
        if isOverloaded(method) { return refuse(id, "Server overloaded; retry later.", code: -32_001, on: number) }
        perform(method, id, params, on: number)
    }

    private func isOverloaded(_ method: String) -> Bool {
        if troubles.overloads > 0 {
            troubles.overloads -= 1
            return true
        }
        let isOfStop = method == "turn/interrupt" || method.hasPrefix("thread/backgroundTerminals/")
        guard isOfStop, habits.refusesStops > 0, stopRandom.happens(habits.refusesStops) else { return false }
        tally.note("Codex: refuses for now what a Stop asks for")
        return true
    }

    private func greet(_ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        guard process?.clients[number]?.isGreeted == false else { return refuse(id, "Already initialized", on: number) }
        let capabilities = params["capabilities"]
        process?.clients[number]?.isGreeted = true
        process?.clients[number]?.isExperimental = capabilities?["experimentalApi"] == .flag(true)
        process?.clients[number]?.silenced = Set(
            (capabilities?["optOutNotificationMethods"]?.elements ?? []).compactMap(\.string))
        let name = params["clientInfo"]?["name"]?.string ?? ""
        reply(
            id, ["userAgent": "\(name)/0.163.0 (Debian 12.0.0; x86_64)", "codexHome": "/home/ada/.codex"], on: number)
        notify("remoteControl/status/changed", ["status": "disabled"], on: number)
    }

    // MARK: Frames

    func say(_ frame: GatewayValue, on number: Int) {
        guard process?.clients[number]?.isGreeted == true else { return }
        if habits.noise > 0, random.happens(habits.noise) { makeNoise(on: number) }
        process?.clients[number]?.line.say(String(decoding: frame.bytes, as: UTF8.self))
    }

    func reply(_ id: GatewayValue, _ result: GatewayValue, on number: Int) {
        say(["id": id, "result": result], on: number)
    }

    func refuse(_ id: GatewayValue, _ message: String, code: Int = -32_600, on number: Int) {
        let frame: GatewayValue = ["id": id, "error": ["code": .integer(code), "message": "\(message)"]]
        process?.clients[number]?.line.say(String(decoding: frame.bytes, as: UTF8.self))
    }

    func notify(_ method: String, _ params: GatewayValue, on number: Int) {
        guard process?.clients[number]?.silenced.contains(method) == false else { return }
        say(
            ["method": "\(method)", "params": params, "emittedAtMs": .integer(Int(time.wallMilliseconds))], on: number)
    }

    /// Tells the subscribers of the thread.
    func notify(_ method: String, _ params: GatewayValue, _ thread: CodexLoaded) {
        let params = params.with("threadId", "\(thread.id)")
        for number in thread.subscribers.sorted() { notify(method, params, on: number) }
    }

    func broadcast(_ method: String, _ params: GatewayValue) {
        for number in (process?.clients.keys.sorted() ?? []) { notify(method, params, on: number) }
    }

    /// Frames that a client must ignore.
    private func makeNoise(on number: Int) {
        tally.note("Codex: says what concerns no chat")
        let frame: GatewayValue = random.pick([
            ["method": "mcpServer/startupStatus/updated", "params": ["name": "garden", "status": "ready"]],
            ["method": "weather/changed", "params": ["threadId": "thread-0", "sky": ["blue"]]],
            ["method": "thread/name/updated", "params": ["threadId": "thread-1", "name": "Beans"]],
            ["id": "never-asked", "result": [:]],
        ])
        process?.clients[number]?.line.say(String(decoding: frame.bytes, as: UTF8.self))
    }
}

/// How the bridge sees each thread, by the frames that reached it. A prompt into a thread that it sees busy would
/// steer the running turn.
struct CodexSight {
    private var busy: Set<String> = []

    /// Notes a frame that reached the bridge.
    mutating func arrived(_ frame: [UInt8]) {
        let text = String(decoding: frame, as: UTF8.self)
        guard text.contains("turn/") || text.contains("status/changed") || text.contains("\"result\""),
            let value = GatewayValue.parse(frame)
        else { return }
        if let thread = value["result"]?["thread"], let id = thread["id"]?.string {
            see(id, isBusy: thread["status"]?["type"]?.string == "active")
        }
        guard let method = value["method"]?.string, let id = value["params"]?["threadId"]?.string else { return }
        switch method {
        case "turn/started": see(id, isBusy: true)
        case "turn/completed": see(id, isBusy: false)
        case "thread/status/changed" where value["params"]?["status"]?["type"]?.string != "active":
            see(id, isBusy: false)
        default: break
        }
    }

    private mutating func see(_ thread: String, isBusy: Bool) {
        if isBusy { busy.insert(thread) } else { busy.remove(thread) }
    }

    /// Checks a frame from the bridge. Returns the breach, or nil if the frame is allowed.
    mutating func leaves(_ frame: [UInt8]) -> String? {
        let text = String(decoding: frame, as: UTF8.self)
        guard text.contains("turn/start") || text.contains("initialize"), let value = GatewayValue.parse(frame),
            let method = value["method"]?.string
        else { return nil }
        if method == "initialize" { busy = [] }
        guard method == "turn/start", let id = value["params"]?["threadId"]?.string, busy.contains(id) else {
            return nil
        }
        return "a prompt left for \(id), in which a turn went on"
    }
}
