import AgentHosting
import BridgeCore
package import BridgeService
package import Vocabulary

/// A phone, a relay, a live connection of the bridge with its links, and a scripted agent, once per connection.
/// Everything but the real sockets and disk, in one thread on virtual time. The bridge's process can be killed
/// between any two steps and continues from its journal.
///
/// A world with one connection forwards to that connection's `WorldSide`.
@dynamicMemberLookup
package final class LiveWorld: @unchecked Sendable {
    package let time = VirtualTime()
    package let disk: VirtualDisk
    package let sides: [WorldSide]
    /// Number of the running process, from 0.
    package private(set) var life = 0
    package private(set) var isRunning = false
    package private(set) var events: [LiveEvent] = []
    private var keepsTime = false
    /// Limit of children over all sides.
    package var agentLimit = 8
    /// Places of the running process.
    private(set) var places: ChildPlaces?

    package init(_ eras: [GatewayEra], scripts: [String: GatewayScript], seed: UInt64 = 1) {
        disk = VirtualDisk(time)
        let (time, disk) = (time, disk)
        sides = eras.enumerated().map { index, era in
            WorldSide(
                ConnectionName(index == 0 ? "default" : "connection-\(index)"), era, scripts: scripts,
                seed: seed &+ UInt64(index) &* 1_000_003, time: time, disk: disk)
        }
        for side in sides { side.world = self }
    }

    package convenience init(_ era: GatewayEra, scripts: [String: GatewayScript], seed: UInt64 = 1) {
        self.init([era], scripts: scripts, seed: seed)
    }

    package subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<WorldSide, Value>) -> Value {
        get { sides[0][keyPath: path] }
        set { sides[0][keyPath: path] = newValue }
    }

    package subscript<Value>(dynamicMember path: KeyPath<WorldSide, Value>) -> Value { sides[0][keyPath: path] }

    // MARK: The process

    package func start() {
        isRunning = true
        places = ChildPlaces(limit: agentLimit)
        for side in sides {
            side.start(life: life) { [weak self] event in self?.events.append(event) }
        }
    }

    /// SIGKILL: requests in flight may still arrive, unwritten jobs are lost.
    package func kill() {
        life += 1
        isRunning = false
        disk.kill()
        for side in sides { side.killed() }
    }

    /// SIGTERM, as the program obeys it: it accepts nothing new, delivers the rest within five seconds, and exits. A
    /// new process starts after `down`.
    package func shutsDown(closing: Bool, down: Duration) {
        let mine = life
        if closing { for side in sides { side.tell { $0.closeTurns() } } }
        stopsWhenQuiet(mine, linksAreOpen: true, until: time.now + .seconds(5), down: down)
    }

    private func stopsWhenQuiet(_ mine: Int, linksAreOpen: Bool, until end: Instant, down: Duration) {
        guard mine == life, isRunning else { return }
        var linksAreOpen = linksAreOpen
        if linksAreOpen, sides.allSatisfy({ $0.ask { $0.turnsAreClosed } ?? true }) {
            linksAreOpen = false
            for side in sides { side.tell { $0.closeLinks() } }
        }
        let isQuiet = !linksAreOpen && sides.allSatisfy { $0.ask { $0.isQuiet } ?? true }
        guard isQuiet || time.now >= end else {
            return time.after(.milliseconds(10)) { [self] in
                stopsWhenQuiet(mine, linksAreOpen: linksAreOpen, until: end, down: down)
            }
        }
        for side in sides { side.tell { $0.stop() } }
        disk.isClosed = true
        restartsWhenWritten(mine, down: down)
    }

    /// The process ends behind the jobs that its journal has taken.
    private func restartsWhenWritten(_ mine: Int, down: Duration) {
        guard mine == life, isRunning else { return }
        guard !disk.isWritten else { return restarts(down: down) }
        time.after(.milliseconds(10)) { [self] in restartsWhenWritten(mine, down: down) }
    }

    package var openTurns: Int { sides.reduce(0) { $0 + $1.openTurns } }

    // MARK: Time

    /// Called after every step of a `run`.
    package var afterStep: ((LiveWorld) -> Void)?

    /// Runs until every message has its answer, but at least `atLeast`. `killAfter` is the step after which the
    /// process dies and starts again.
    package func run(
        seconds: Int64 = 120, killAfter: Int? = nil, down: Duration = .seconds(1), atLeast: Duration = .seconds(8)
    ) {
        let end = Instant.zero + .seconds(seconds)
        var isDone = false
        while !isDone, step(until: end) {
            if time.steps == killAfter { restarts(down: down) }
            afterStep?(self)
            isDone = time.now > .zero + atLeast && isAnswered
        }
    }

    /// False if nothing remains before that moment.
    package func step(until end: Instant) -> Bool {
        if !keepsTime { keepTime() }
        guard time.step(until: end) else { return false }
        for side in sides { side.pump() }
        return true
    }

    /// The process dies now. A new one starts after `down`.
    package func restarts(down: Duration) {
        kill()
        let mine = life
        time.after(down) { [self] in if mine == life, !isRunning { start() } }
    }

    private var isAnswered: Bool {
        isRunning && sides.contains { !$0.sent.isEmpty } && openTurns == 0 && sides.allSatisfy(\.isAnswered)
    }

    private func keepTime() {
        keepsTime = true
        // Without a process only the relay's clock advances.
        time.after(isRunning ? .milliseconds(500) : .seconds(20)) { [self] in
            for side in sides { side.keepTime() }
            keepTime()
        }
    }

    /// Releases everything: a world retains itself otherwise.
    package func end() {
        kill()
        time.end()
        afterStep = nil
    }

    // MARK: A world with one connection

    package func writes(_ text: String, chat: Int = 0, after: Duration) {
        sides[0].writes(text, chat: chat, after: after)
    }
    package func writesAgain(_ text: String, under index: Int, after: Duration) {
        sides[0].writesAgain(text, under: index, after: after)
    }
    package func otherClientSends(_ text: String, in session: String, as run: String, after: Duration) {
        sides[0].otherClientSends(text, in: session, as: run, after: after)
    }
    package func schedulerRuns(_ text: String, job: String, in session: String, as run: String, after: Duration) {
        sides[0].schedulerRuns(text, job: job, in: session, as: run, after: after)
    }
    package func deletesChat(_ index: Int, after: Duration) { sides[0].deletesChat(index, after: after) }
    package func archivesChat(_ index: Int, after: Duration) { sides[0].archivesChat(index, after: after) }
    package func agentSays(_ signals: [RunSignal], after: Duration) { sides[0].agentSays(signals, after: after) }
    package func use(_ token: Secret, after: Duration) { sides[0].use(token, after: after) }
    package func stops(_ index: Int, wholeChat: Bool = false, after: Duration) {
        sides[0].stops(index, wholeChat: wholeChat, after: after)
    }
    package func ask<Answer: Sendable>(_ question: (LiveConnection) -> Answer) -> Answer? { sides[0].ask(question) }
}
