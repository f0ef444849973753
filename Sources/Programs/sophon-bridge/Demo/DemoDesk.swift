import BridgeCore
import BridgeService
import Commands
import Dispatch
import FoundationEssentials
import Locking
import RelayProtocol
import RelayRules
import Sealing
import Simulator
import Vocabulary

/// The agent's side of the demo: every message of the user starts a recorded run in its chat, whether the demo or a person on the page wrote
/// it. In one chat runs follow one another; chats do not wait for each other.
///
/// Decisions and stops come as updates of the relay, as for the live bridge. If the person decides otherwise than the recording did, the
/// recording cannot go on: the run ends there, in words of ours.
final class DemoDesk: Sendable {
    private struct Message {
        var session: SessionID
        var interaction: InteractionID
        var message: MessageID
    }

    private struct State {
        /// Texts that the demo itself will write, with the number of the run that each begins, or nil if it begins none.
        var planned: [(text: String, run: Int?)] = []
        var plays: [InteractionID: DemoPlay] = [:]
        /// Queue of each chat's runs: the next one waits for the last.
        var queues: [SessionID: DispatchQueue] = [:]
        var nextRun = 0
        var playNumber = 0
        var isClosed = false
        var failure: CommandFailure?
    }

    private let simulator: RelaySimulator
    private let session: ReplaySession
    private let speed: ReplaySpeed
    private let output: Output
    /// Nil if encryption is off.
    private let keys: DemoKeys?
    private let state = Locked(State())
    private let finished = DispatchSemaphore(value: 0)

    init(
        _ simulator: RelaySimulator, _ session: ReplaySession, _ speed: ReplaySpeed, _ keys: DemoKeys?, _ output: Output
    ) {
        self.keys = keys
        self.simulator = simulator
        self.session = session
        self.speed = speed
        self.output = output
        simulator.onUpdate { [weak self] in self?.take($0) }
        let answers = DemoAnswers { [simulator, keys] words in Self.write(words, simulator, keys) }
        simulator.onQuestion { answers.answer($0, $1) }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }
    var failure: CommandFailure? { state.withLock { $0.failure } }

    /// Plays every recorded run in a chat of its own, one after the other.
    func playAll() {
        for (index, run) in EmbeddedFile.demoRecordings.enumerated() {
            guard !isClosed else { return }
            output.line("── \(run.name) ──")
            let text = DemoRecording(run.text).prompt
            state.withLock { $0.planned.append((text, index)) }
            Self.write(text, simulator, keys)
            finished.wait()
            _ = Pace.wait(atMost: .seconds(30)) { [session] in session.runner.isAtRest }
            output.line("")
        }
        state.withLock { $0.nextRun = 0 }
    }

    /// Writes as the user, in a new chat.
    private static func write(_ text: String, _ simulator: RelaySimulator, _ keys: DemoKeys?) {
        if let keys {
            _ = keys.sends(text, in: keys.startChat())
        } else {
            simulator.userSends(text: text)
        }
    }

    /// Stops the runs that still play, as the user would.
    func close() {
        let plays = state.withLock { state in
            state.isClosed = true
            return Array(state.plays.values)
        }
        for play in plays { play.end(.closed) }
        _ = Pace.wait(atMost: .seconds(10)) { [state] in state.withLock { $0.plays.isEmpty } }
    }

    // MARK: Updates of the relay

    private func take(_ pending: PendingUpdate) {
        simulator.acknowledge(upTo: pending.id)
        guard let update = RelayUpdate.read(pending.frame, at: .zero) else { return }
        switch update.payload {
        case .message(let message, let sealedText):
            guard let interaction = message.interaction else { return }
            let opened = keys?.text(of: sealedText, .messages, in: message.session)
            begin(
                Message(session: message.session, interaction: interaction, message: message.id),
                text: opened ?? message.text, isSealed: sealedText != nil)
        case .sessionKeyGranted(let device, let box):
            if let session = update.session { keys?.granted(session, to: device, box: box) }
        case .deviceAdded(let device): keys?.phoneAdded(device.id, publicKey: device.publicKey)
        case .stop: if let session = update.session { stop(session, update.interaction) }
        case .approval(let id, let decision, let details):
            session.runner.tell { bridge, now in
                bridge.decided(id, decision, scope: details.scope, reason: details.reason, at: now)
            }
            for play in state.withLock({ Array($0.plays.values) }) { play.decided(id, decision) }
        case .model, .sessionStarted, .sessionEnded, .taskStopped, .deviceRevoked, .installationRevoked, .other: break
        }
    }

    private func stop(_ session: SessionID, _ interaction: InteractionID?) {
        self.session.runner.tell { bridge, now in bridge.stopped(session: session, interaction: interaction, at: now) }
        let plays = state.withLock { state in
            state.plays.values.filter { $0.session == session && (interaction == nil || $0.interaction == interaction) }
        }
        for play in plays { play.end(.stopped) }
    }

    // MARK: Playing

    private func begin(_ message: Message, text: String, isSealed: Bool) {
        let run: (index: Int, isPlanned: Bool, number: Int)? = state.withLock { state in
            guard !state.isClosed else { return nil }
            var index: Int?
            let planned = state.planned.firstIndex { $0.text == text }
            if let planned {
                index = state.planned.remove(at: planned).run
            } else {
                index = state.nextRun % EmbeddedFile.demoRecordings.count
                state.nextRun += 1
            }
            guard let index else { return nil }
            state.playNumber += 1
            return (index, planned != nil, state.playNumber)
        }
        guard let run else { return }
        var sealing = keys?.sealing(in: message.session) ?? .open
        // The message waits for its key.
        if isSealed, sealing == .open { sealing = .sealed(nil) }
        let play = DemoPlay(
            session: message.session, interaction: message.interaction, message: message.message,
            simulator: simulator, runner: session.runner, speed: speed, keys: keys, sealing: sealing
        ) { [state] text in state.withLock { $0.planned.append((text, nil)) } }
        let queue = state.withLock { state in
            state.plays[message.interaction] = play
            let queue = state.queues[message.session] ?? DispatchQueue(label: "demo.\(message.session)")
            state.queues[message.session] = queue
            return queue
        }
        queue.async { [self] in
            let recording = EmbeddedFile.demoRecordings[run.index]
            let lines = DemoRecording(recording.text).renamed(run.number)
            do {
                try session.play(text: lines, name: recording.name, play) { play.wait(for: $0) }
            } catch {
                state.withLock { $0.failure = CommandFailure(code: .unexpected, message: "\(error)") }
            }
            state.withLock { $0.plays[message.interaction] = nil }
            if run.isPlanned { finished.signal() }
        }
    }
}

/// Text of a recording, which is played more than once, and several times at once.
struct DemoRecording {
    private let lines: String

    init(_ lines: String) { self.lines = lines }

    /// Prompt that the user wrote in the recording.
    var prompt: String {
        struct Line: Decodable {
            struct Frame: Decodable {
                struct Parameters: Decodable { var message: String? }
                var message: String?
                var params: Parameters?
            }
            var dir: String
            var frame: Frame?
        }
        for line in lines.split(separator: "\n") {
            guard let read = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)), read.dir == "out" else {
                continue
            }
            if let text = read.frame?.params?.message ?? read.frame?.message { return text }
        }
        return "Hello"
    }

    /// The lines with names of runs, approvals and agent sessions that no other playing has.
    func renamed(_ number: Int) -> String {
        guard number > 1 else { return lines }
        let suffix = String(number, radix: 16)
        let padded = String(repeating: "0", count: max(0, 12 - suffix.count)) + suffix.suffix(12)
        let uuid = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-)[0-9a-f]{12}/
        return lines.replacing(uuid) { "\($0.output.1)\(padded)" }
            .replacing("phone-7", with: "phone-7-\(number)").replacing("sPk3Lm9Q", with: "sPk3Lm9Q\(number)")
    }
}
