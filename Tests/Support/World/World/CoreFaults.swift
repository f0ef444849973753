import AgentKit
import BridgeCore
import RelayRules
import Vocabulary

/// Faults of `PlantedFault` in the core, made at its edges: calls, frames of the relay, signals of the agent and
/// commands to it pass through.
/// One object for each side of a world, and one for each `CoreWorld`.
final class CoreFaults: @unchecked Sendable {
    #if PLANTED_FAULTS
        weak var side: WorldSide?
        var asks = FaultyAsks()
        var calls = FaultyCalls()
        /// Chats whose key the bridge holds.
        private var keyed: Set<String> = []
        /// Runs by name, with their sessions. `own` tells which the bridge began.
        private var foreign: [RunID: AgentSession] = [:]
        private var own: Set<RunID> = []
        private var link: (any AgentLink)?
        /// The only turn that `starves` lets through.
        private var served: TurnID?
    #endif

    init(_ side: WorldSide? = nil) {
        #if PLANTED_FAULTS
            self.side = side
        #endif
    }

    // MARK: Settings

    static func changed(_ settings: BridgeSettings) -> BridgeSettings {
        #if PLANTED_FAULTS
            var settings = settings
            switch PlantedFault.planted {
            case .bytesUnbounded: settings.delivery.heldBytes = 1 << 40
            case .expiryForwarded: settings.turn.asks.whenUnanswered = .deny
            default: break
            }
        #endif
        return settings
    }

    // MARK: The relay

    /// Carries a call to the relay and returns its answer.
    func carry(_ request: RawRequest, to relay: inout Relay, at moment: Moment) -> Exchange {
        #if PLANTED_FAULTS
            if let fault = PlantedFault.planted, request.method == "POST" {
                return calls.carry(request, to: &relay, fault, self, at: moment)
            }
        #endif
        return relay.respond(to: request, at: moment)
    }

    /// Returns what the bridge hears instead of a frame of the relay.
    func fromRelay(_ frame: [UInt8]) -> [UInt8] {
        #if PLANTED_FAULTS
            guard let fault = PlantedFault.planted else { return frame }
            var json = CompactJSON(text: String(decoding: frame, as: UTF8.self))
            let (session, type) = (json.member("session_id") ?? "", json.second("type") ?? "")
            switch type {
            case "session.message":
                asks.wroteAt = now
                says(json, fault)
                if fault == .sealedFilesForgotten, !keyed.contains(session) {
                    json.replace(#""attachments""#, with: #""attached""#)
                }
            case "session_key_granted": keyed.insert(session)
            case "session.cancelled", "session.ended":
                if fault == .endedChatAnswered, type == "session.ended" || json.member("reason") == "session_deleted" {
                    json.replace("\"\(type)\"", with: #""session.unheard""#)
                }
                if type == "session.cancelled" { asks.stopped.insert(session) }
            case "approval.resolved":
                if fault == .scopeWidened { json.replace(#""scope""#, with: #""unheard""#) }
                asks.tapped(&json, fault)
            default: break
            }
            return Array(json.text.utf8)
        #else
            return frame
        #endif
    }

    // MARK: The agent

    /// Returns what the bridge hears instead of the agent's event, or nil if the event is lost.
    func heard(_ event: RunEvent) -> RunEvent? {
        #if PLANTED_FAULTS
            switch (PlantedFault.planted, event) {
            case (.snapshotAppended, .text(.snapshot(let text))): return .text(.append(text))
            case (.toolAlarmed, .tool): return nil
            case (.fingerprintForgotten, .approvalRequested(let request)):
                return .approvalRequested(asks.first(request))
            default: break
            }
        #endif
        return event
    }

    func heard(_ event: AgentLinkEvent) -> AgentLinkEvent {
        #if PLANTED_FAULTS
            guard PlantedFault.planted != nil, case .observed(let said) = event else { return event }
            return .observed(
                said.compactMap { observation in
                    guard case .signal(var signal) = observation else { return observation }
                    if let run = signal.run, let session = signal.session { foreign[run] = session }
                    asks.note(signal.event)
                    guard let event = heard(signal.event) else { return nil }
                    signal.event = event
                    return .signal(signal)
                })
        #else
            return event
        #endif
    }

    /// Wraps the link, so the bridge's commands pass through here.
    func around(_ link: any AgentLink) -> any AgentLink {
        #if PLANTED_FAULTS
            self.link = link
            return PlantedFault.planted == nil ? link : FaultyLink(inner: link, faults: self)
        #else
            return link
        #endif
    }

    // MARK: The disk

    /// Sends the command once it is on the disk, even if a Stop withdrew it.
    static func ignoresWithdrawal(of command: AgentCommand) -> Bool {
        #if PLANTED_FAULTS
            switch command {
            case .send: return PlantedFault.sendAfterStop.isPlanted
            case .answer: return PlantedFault.answeredAfterStop.isPlanted
            default: break
            }
        #endif
        return false
    }

    /// A turn's record as the next process reads it.
    static func kept(_ record: [UInt8]) -> [UInt8] {
        #if PLANTED_FAULTS
            switch PlantedFault.planted {
            case .filesHandedOverAgain: return waiting(record, where: #""attachments":["#) { $0 }
            // Under the same name the agent would take the message for the one it has.
            case .wordsSentAgain: return waiting(record, where: #""refusal":{"#) { $0 + "-again" }
            default: break
            }
        #endif
        return record
    }

    // MARK: Orders

    static var timesAnswered: Int {
        #if PLANTED_FAULTS
            PlantedFault.answeredTwice.isPlanted ? 2 : 1
        #else
            1
        #endif
    }

    /// Delays calls of other turns until the first caller's end has left.
    func starves(_ attempt: CallAttempt) -> Bool {
        #if PLANTED_FAULTS
            guard PlantedFault.laneStarves.isPlanted else { return false }
            let served = served ?? attempt.turn
            self.served = attempt.turn == served && attempt.name == .end ? nil : served
            return attempt.turn != served
        #else
            return false
        #endif
    }

    /// The body of a notice. `words` are the text of a message in the chat.
    static func notice(_ body: String, words: String?) -> String {
        #if PLANTED_FAULTS
            if PlantedFault.sealedWordsInNotice.isPlanted, let words {
                var json = CompactJSON(text: body)
                json.replace(#""sealed":true"#, with: #""chat":"\#(words)""#)
                return json.text
            }
        #endif
        return body
    }
}

#if PLANTED_FAULTS
    extension CoreFaults {
        var now: Instant { side?.now ?? .zero }

        private static func waiting(
            _ record: [UInt8], where mark: String, run: (String) -> String
        ) -> [UInt8] {
            var json = CompactJSON(text: String(decoding: record, as: UTF8.self))
            let phases = ["handed_over", "running", "holding", "asking", "searching"].map { #""name":"\#($0)""# }
            guard let phase = phases.first(where: { json.text.contains($0) }), json.text.contains(mark) else {
                return record
            }
            json.replace(phase, with: #""name":"waiting""#)
            guard let old = json.member("run") else { return record }
            json.replace("\"\(old)\"", with: "\"\(run(old))\"")
            return Array(json.text.utf8)
        }

        /// A message of the person decides an ask by itself.
        private func says(_ json: CompactJSON, _ fault: PlantedFault) {
            guard let ask = fault == .wordsRefuseOldest ? asks.oldest : asks.newest, let text = words(of: json),
                !text.hasPrefix("/")
            else { return }
            switch fault {
            case .wordsRefuseOldest: decide(ask, .deny)
            case .wordsAllow where text.hasPrefix("Yes"): decide(ask, .approve)
            case .earlierWordsRefuse where !text.hasPrefix("Yes"):
                if let since = asks.shownAt[ask.id], now - since < .seconds(2) { decide(ask, .deny) }
            default: break
            }
        }

        private func words(of json: CompactJSON) -> String? {
            guard let sealed = json.member("text_ct"), let session = json.member("session_id") else {
                return json.member("text")
            }
            return side?.opened(sealed, .messages, in: session)?.text
        }

        private func decide(_ ask: ApprovalRequest, _ decision: ApprovalDecision) {
            let shown = decision == .deny ? nil : AskFingerprint(of: ask)
            _ = link?.command(.resolve(approval: ask.id, subject: ask.subject, decision: decision, shown: shown))
        }

        func says(_ command: AgentCommand) -> [AgentCommand] {
            if case .send(_, _, let run, _) = command { own.insert(run) }
            return [asks.changed(command, PlantedFault.planted)].compactMap(\.self)
        }

        /// Once the relay reports a chat as gone, stops runs that the bridge did not begin.
        func abortForeign() {
            for (run, session) in foreign.sorted(by: { $0.key < $1.key }) where !own.contains(run) {
                _ = link?.command(.abort(session: session, run: run))
            }
        }
    }

    private struct FaultyLink: AgentLink {
        let inner: any AgentLink
        let faults: CoreFaults

        var isClosed: Bool { inner.isClosed }
        var heldBytes: Int { inner.heldBytes }
        var processes: [ProcessName] { inner.processes }

        func begin(_ past: AgentPast) { inner.begin(past) }
        func check() { inner.check() }
        func command(_ command: AgentCommand) -> Bool {
            faults.says(command).map { inner.command($0) }.allSatisfy(\.self)
        }
        func query(_ query: AgentQuery, completion: @escaping @Sendable (AgentReply) -> Void) {
            inner.query(query, completion: completion)
        }
        func slept() { inner.slept() }
        func renew() { inner.renew() }
        func shutDown() { inner.shutDown() }
        func stop() { inner.stop() }
        func holdReading(_ isHeld: Bool) { inner.holdReading(isHeld) }
    }
#endif
