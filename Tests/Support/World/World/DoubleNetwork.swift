package import Vocabulary

/// The far side of an agent, on sockets that the bridge opens and as programs that it starts. OpenClaw has its own
/// (`ScriptedGateway`).
package protocol AgentDouble: AnyObject {
    /// A socket opens or a program starts. False if the double refuses.
    func opened(_ line: DoubleLine) -> Bool
    func received(_ frame: [UInt8], on line: DoubleLine)
    /// The bridge left the line or died. A program reads the end of its input.
    func ended(_ line: DoubleLine)
    /// The socket breaks or the program is killed: everything under way is lost.
    func broken(_ line: DoubleLine)
    /// Whether a program of this line runs, which it may after the end of its input.
    func runs(_ line: DoubleLine) -> Bool
    /// Every socket breaks, to stay away for this long. Returns how long it does: a server that shares the bridge's
    /// computer cannot be away.
    func isCut(for away: Duration) -> Duration
}

extension AgentDouble {
    package func isCut(for away: Duration) -> Duration { away }
    package func broken(_ line: DoubleLine) { ended(line) }
    package func runs(_ line: DoubleLine) -> Bool { false }
}

/// How a socket or a program ends by itself.
enum DoubleEnd {
    case orderly
    /// The socket breaks or the program is killed: everything under way is lost.
    case cut
    /// The program exits with an error.
    case failed(words: String)
}

/// One socket or program at the far side.
package final class DoubleLine: @unchecked Sendable {
    package let number: Int
    /// Command line of a program, or address of a socket.
    package let arguments: [String]
    let isAlive: () -> Bool
    /// The program continues without the bridge.
    var outlives = false
    private let hear: ([UInt8]) -> Void
    private let hearEnd: (DoubleEnd) -> Void
    private unowned let network: DoubleNetwork
    private let toBridge: HeldLine
    let toDouble: HeldLine
    var process: ProcessName { ProcessName(id: Int32(1_000 + number), startTicks: 1) }
    /// Open at the far side.
    private(set) package var isOpen = true
    /// Open at the bridge.
    private var isHeard = true

    init(
        _ number: Int, _ arguments: [String], _ network: DoubleNetwork, isAlive: @escaping () -> Bool,
        hear: @escaping ([UInt8]) -> Void, hearEnd: @escaping (DoubleEnd) -> Void
    ) {
        self.number = number
        self.arguments = arguments
        self.network = network
        self.isAlive = isAlive
        self.hear = hear
        self.hearEnd = hearEnd
        toBridge = network.line()
        toDouble = network.line()
    }

    /// Sends a frame, which arrives a moment later behind earlier ones.
    package func say(_ frame: String) {
        guard isOpen else { return }
        toBridge.pass { [self] in
            guard isHeard, network.counts(), isAlive() else { return }
            let heard = network.edge.toBridge(Array(frame.utf8), on: self)
            // The double counts the frame as arrived.
            if heard.isEmpty { network.onFrame?(true, Array(frame.utf8)) }
            for frame in heard { hear(network.toBridge(frame)) }
        }
    }

    /// The far side closes the socket or the program ends. `isCut` loses everything under way.
    package func end(isCut: Bool = false) { end(isCut ? .cut : .orderly) }

    func end(_ end: DoubleEnd) {
        isOpen = false
        if case .cut = end { return tellEnd(end) }
        toBridge.pass { [self] in tellEnd(end) }
    }

    private func tellEnd(_ end: DoubleEnd) {
        guard takeEnd() else { return }
        network.time.after(.milliseconds(1)) { [self] in if isAlive() { hearEnd(end) } }
    }

    /// The bridge left the line.
    func left() { isOpen = false }

    /// False if the end was already reported.
    func takeEnd() -> Bool {
        defer { isHeard = false }
        return isHeard
    }
}

/// The network and the process table between the bridge and the double, on virtual time.
package final class DoubleNetwork: @unchecked Sendable {
    private let double: any AgentDouble
    let time: VirtualTime
    let edge = AgentEdge()
    private var random: SeededGenerator
    private var lines: [Int: DoubleLine] = [:]
    /// Programs that may still work after the end of their input.
    private var left: [Int: DoubleLine] = [:]
    private var lastNumber = 0
    /// Nothing opens or starts before this moment.
    package var awayUntil = Instant.zero
    /// Until then a handshake gets 401, and a program exits with an error.
    package var refusesUntil = Instant.zero
    /// No frame arrives before this moment, though lines stay open.
    package var deafUntil = Instant.zero
    /// Cuts everything once, after so many further frames, for the time `away`.
    package var cutAfter: (frames: Int, away: Duration)?
    /// Reports a cut socket as lost, as the transport does without a closing frame.
    package var reportsLoss = false
    /// Replaces a frame on its way to the bridge.
    package var distort: (([UInt8], inout SeededGenerator) -> [UInt8])?
    /// Called with every frame that leaves the bridge.
    package var onSend: (([UInt8]) -> Void)?
    /// Called with every frame that arrives. True for the bridge's side.
    package var onFrame: ((Bool, [UInt8]) -> Void)?
    /// Number of sockets and programs opened.
    package private(set) var opened = 0

    package init(_ double: any AgentDouble, _ time: VirtualTime, seed: UInt64) {
        self.double = double
        self.time = time
        random = SeededGenerator(seed: seed)
    }

    // MARK: Misfortunes

    /// Breaks everything open for the time `away`, including programs that a dead bridge left behind.
    package func cut(away: Duration) {
        awayUntil = max(awayUntil, time.now + double.isCut(for: away))
        for line in open where !line.outlives {
            lines[line.number] = nil
            line.end(isCut: true)
            double.broken(line)
        }
        for line in orphans { kill(line) }
    }

    /// The bridge's process died: its sockets close, and its children read the end of their input. Frames already
    /// sent may still arrive.
    func killed() {
        // Two kills one step apart, as the contract tries them, differ: one loses the pipes' content.
        let arrives = (random.next() ^ UInt64(time.steps)) & 1 == 0
        for line in open where !line.outlives {
            time.after(.milliseconds(2)) { [self] in part(line) }
            if !arrives { line.left() }
        }
    }

    /// Ends all troubles.
    package func calm() { (awayUntil, refusesUntil, deafUntil, cutAfter, distort) = (.zero, .zero, .zero, nil, nil) }

    package var open: [DoubleLine] { lines.values.sorted { $0.number < $1.number } }

    // MARK: Programs that outlive the bridge

    package func runs(_ process: ProcessName) -> Bool {
        let all = open + orphans
        return all.contains { $0.process == process && ($0.outlives && $0.isOpen || double.runs($0)) }
    }

    package func end(_ process: ProcessName) {
        for line in open where line.outlives && line.process == process { part(line) }
        for line in orphans where line.process == process { kill(line) }
    }

    private var orphans: [DoubleLine] {
        left.values.filter { double.runs($0) }.sorted { $0.number < $1.number }
    }

    // MARK: Lines

    func sockets(_ isAlive: @escaping () -> Bool) -> any WebSocketClient { DoubleSockets(self, isAlive) }
    func programs(_ isAlive: @escaping () -> Bool) -> any ChildRunner { DoublePrograms(self, isAlive) }

    func line() -> HeldLine { HeldLine(time) { [weak self] in self?.deafUntil ?? .zero } }

    func make(
        _ arguments: [String], _ isAlive: @escaping () -> Bool, hear: @escaping ([UInt8]) -> Void,
        hearEnd: @escaping (DoubleEnd) -> Void
    ) -> DoubleLine {
        lastNumber += 1
        return DoubleLine(lastNumber, arguments, self, isAlive: isAlive, hear: hear, hearEnd: hearEnd)
    }

    /// False if the double refuses or is away.
    func begin(_ line: DoubleLine) -> Bool {
        guard time.now >= awayUntil, line.isOpen, double.opened(line) else { return false }
        lines[line.number] = line
        opened += 1
        return true
    }

    /// Whether the double is neither away nor deaf.
    var isReached: Bool { time.now >= awayUntil && time.now >= deafUntil }
    var refuses: Bool { time.now < refusesUntil }

    /// Counts a frame. False if it cut everything instead.
    func counts() -> Bool {
        guard let (frames, away) = cutAfter else { return true }
        cutAfter = frames > 0 ? (frames - 1, away) : nil
        if frames == 0 { cut(away: away) }
        return frames > 0
    }

    /// The frame as it arrives, with room for a parser that reads beyond the end.
    func toBridge(_ frame: [UInt8]) -> [UInt8] {
        var frame = distort?(frame, &random) ?? frame
        onFrame?(true, frame)
        frame.reserveCapacity(frame.count + 64)
        return frame
    }

    func send(_ bytes: [UInt8], on line: DoubleLine) {
        onSend?(bytes)
        if let limit = EdgeFaults.promptLimit { ends(line, after: limit, unlessItTakes: bytes) }
        line.toDouble.pass { [self] in
            // The frames of a dead process may be lost.
            guard lines[line.number] != nil, line.isOpen, counts() else { return }
            for bytes in edge.toAgent(bytes) {
                onFrame?(false, bytes)
                double.received(bytes, on: line)
            }
        }
    }

    private func ends(_ line: DoubleLine, after limit: Duration, unlessItTakes prompt: [UInt8]) {
        guard edge.asksToRun(prompt, on: line) else { return }
        time.after(limit) { [self] in
            guard edge.isUntaken(on: line), lines[line.number] != nil else { return }
            part(line)
            line.end(.cut)
        }
    }

    /// The bridge leaves, behind everything it sent.
    func leave(_ line: DoubleLine, done: @escaping () -> Void = {}) {
        line.toDouble.pass { [self] in
            part(line)
            done()
        }
    }

    func part(_ line: DoubleLine) {
        guard lines.removeValue(forKey: line.number) != nil else { return }
        double.ended(line)
        guard double.runs(line) else { return line.left() }
        left[line.number] = line
    }

    func worksOn(_ line: DoubleLine) -> Bool { left[line.number] != nil && double.runs(line) }

    func kill(_ line: DoubleLine) {
        guard lines.removeValue(forKey: line.number) ?? left.removeValue(forKey: line.number) != nil else { return }
        line.left()
        double.broken(line)
    }
}
