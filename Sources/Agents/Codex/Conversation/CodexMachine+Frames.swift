import AgentKit
import JSONReading
import Vocabulary

// Frames of the server, and the chats that they concern.
extension CodexMachine {
    // MARK: Frames

    mutating func take(_ message: CodexMessage, _ frame: UnsafeRawBufferPointer, _ now: Occasion) {
        switch message {
        case .result(let id, let result): answered(id, result, now)
        case .failure(let id, let code, let message): refused(id, code, message, now)
        case .notification(let method, let params):
            if !CodexNames.notifications.contains(method) { mind.unknown.count("notification", method) }
            notified(method, params, frame, now)
        case .request(let id, let method, let params): requested(id, method, params, frame, now)
        }
    }

    private mutating func notified(
        _ method: String, _ params: FrameNode, _ frame: UnsafeRawBufferPointer, _ now: Occasion
    ) {
        if method == "configWarning" {
            let words = CodexTrouble.configuration(
                summary: params["summary"]?.string, details: params["details"]?.string)
            if let words { troubled(words, now) }
            return
        }
        guard let session = params["threadId"]?.string.flatMap({ chats.owner(of: $0) }) else { return }
        if holds(frame, for: session, now) { return }
        if method == "serverRequest/resolved" {
            let id = params["requestId"]?.compact
            change(session, now) { chat in id.map { chat.resolved($0, at: now.read) } ?? [] }
        } else {
            change(session, now) { $0.notified(method, params, at: now.read) }
        }
    }

    private mutating func requested(
        _ id: JSONText, _ method: String, _ params: FrameNode, _ frame: UnsafeRawBufferPointer, _ now: Occasion
    ) {
        guard CodexAsk.methods.contains(method) else {
            mind.unknown.count("request", method)
            orders.append(.send(Self.mainChannel, CodexFrames.refuse(id, "this client does not answer \(method)")))
            return
        }
        // A thread without a chat belongs to another client, which answers.
        guard let session = params["threadId"]?.string.flatMap({ chats.owner(of: $0) }) else {
            return mind.unknown.count("request of another's thread", method)
        }
        if holds(frame, for: session, now) { return }
        change(session, now) { $0.requested(id, method, params, at: now.read) }
        for approval in mind.decisions.approvals {
            guard let holder = chats.holder(of: approval),
                let held = mind.decisions.take(approval, asked: chats.awake[holder]?.asks.fingerprint(of: approval))
            else { continue }
            change(holder, now) {
                $0.resolve(approval, held.decision, isUnanswered: held.isUnanswered, shown: nil, at: now.read)
            }
        }
    }

    /// Holds a decision whose ask is not open: the server asks again once the thread is resumed, or never. A yes without a
    /// fingerprint is dropped, and the repeated ask is shown again.
    mutating func hold(
        _ decision: ApprovalDecision, isUnanswered: Bool, on approval: ApprovalID, shown: AskFingerprint?,
        _ now: Occasion
    ) {
        let session = chats.sorted.first { chats.awake[$0]?.asks.knows(approval) == true }
        let shown = shown ?? session.flatMap { chats.awake[$0]?.asks.fingerprint(of: approval) }
        guard !mind.decisions.hold(decision, isUnanswered: isUnanswered, on: approval, shown: shown, at: now.read)
        else {
            return
        }
        if let session {
            change(session, now) {
                $0.asks.forget(approval)
                return []
            }
        }
        orders.append(.note(.words("a yes to what is not asked any more is dropped; it is asked again")))
        lose(approval)
    }

    private mutating func lose(_ approval: ApprovalID) {
        let event = RunEvent.approvalSettled(ApprovalSettlement(id: approval, outcome: .unknown))
        orders.append(.observed([.signal(RunSignal(run: nil, session: nil, event: event))]))
    }

    /// Settles decisions whose ask did not come.
    mutating func settleOverdue(_ now: Occasion) {
        guard !chats.areJoining else { return mind.decisions.waitAgain(at: now.read) }
        for approval in mind.decisions.takeOverdue(at: now.read) { lose(approval) }
    }

    /// Holds frames until their turn is found.
    private mutating func holds(
        _ frame: UnsafeRawBufferPointer, for session: AgentSession, _ now: Occasion
    ) -> Bool {
        guard let way = chats.awake[session]?.way, way == .joining || way == .listing else { return false }
        change(session, now) { chat in
            chat.frames.hold(frame) ? [] : [.redial("more frames came than can be held")]
        }
        return true
    }

    private mutating func replay(_ frames: [[UInt8]], _ now: Occasion) {
        for frame in frames {
            frame.withUnsafeBytes { bytes in
                guard let message = parser.parse(bytes, capacity: frame.capacity).flatMap(CodexMessage.init) else {
                    return
                }
                take(message, bytes, now)
            }
        }
    }

    // MARK: Answers

    private mutating func answered(_ id: JSONText, _ result: FrameNode, _ now: Occasion) {
        switch requests.answered(id) {
        case nil: mind.unknown.count("answer", "to nothing")
        case .initialize: initialized(result, now)
        case .account: accountIs(result, now)
        case .models(let query): orders.append(.replied(query, .models(Self.models(result))))
        case .efforts: effortsAre(CodexEfforts(result), now)
        case .loaded: loaded(result, now)
        case .working: isWorking(result["thread"]?["status"], now)
        case .chat(let session, let request):
            change(session, now) { $0.answered(request, result, at: now.read) }
            followed(session, now)
        }
    }

    private mutating func refused(_ id: JSONText, _ code: Int, _ message: String, _ now: Occasion) {
        switch requests.answered(id) {
        case nil: mind.unknown.count("answer", "to nothing")
        case .initialize, .account: drop("the server refused the handshake: \(message)", .byBackOff, now)
        case .models(let query): orders.append(.replied(query, .refused(message: message)))
        case .efforts: effortsAre(CodexEfforts(), now)
        case .loaded: notLoaded(now)
        // The thread was unloaded in the meantime.
        case .working: isWorking(nil, now)
        case .chat(let session, let request):
            change(session, now) { $0.refused(request, code, message, at: now.read) }
            followed(session, now)
        }
    }

    /// Replays frames that arrived while their thread was joined.
    private mutating func followed(_ session: AgentSession, _ now: Occasion) {
        guard let chat = chats.awake[session], chat.way != .joining, chat.way != .listing, !chat.frames.frames.isEmpty
        else { return }
        // A chat that waits to join again is still subscribed: without these frames its message would have a hole.
        let isSubscribed = chat.way != .absent
        var frames: [[UInt8]] = []
        change(session, now) { chat in
            frames = chat.frames.take()
            return []
        }
        if isSubscribed { replay(frames, now) }
        change(session, now) { chat in
            chat.frames.replayed()
            return chat.advance(at: now.read)
        }
    }

    mutating func overdue(_ purpose: Purpose, _ now: Occasion) {
        switch purpose {
        case .initialize, .account:
            server.tries.doesNotAnswer(at: now.now)
            drop("the server does not answer", .byBackOff, now)
        case .models(let query): orders.append(.replied(query, .refused(message: "Codex does not answer")))
        case .efforts: effortsAre(CodexEfforts(), now)
        case .loaded, .working: doesNotSay(now)
        case .chat(let session, let request): change(session, now) { $0.overdue(request, at: now.read) }
        }
    }

    private mutating func effortsAre(_ efforts: CodexEfforts, _ now: Occasion) {
        self.efforts = efforts
        for session in chats.sorted { change(session, now) { $0.advance(at: now.read) } }
    }

    private static func models(_ result: FrameNode) -> [AgentModel] {
        (result["data"]?.elements ?? []).filter { $0["hidden"]?.flag != true }.compactMap { node in
            guard let id = node["model"]?.string ?? node["id"]?.string else { return nil }
            return AgentModel(id: id, name: node["displayName"]?.string ?? id)
        }
    }

    // MARK: Chats

    mutating func change(_ session: AgentSession, _ now: Occasion, _ change: (inout CodexChat) -> [CodexChat.Order]) {
        let efforts = efforts
        let (said, record) = chats.change(session, settings, isUp: life.isLive) { chat in
            chat.link.random = now.random
            chat.link.efforts = efforts
            return (change(&chat), chat.cleanUps.takeRecord(wall: now.wallMilliseconds))
        }
        // Recorded beside the requests: a Stop does not wait for the disk.
        if let record { work(.aside, .keep([Fact(Self.stoppedFact + session.text, record)])) }
        for order in said { carryOut(order, of: session, now) }
    }

    private mutating func carryOut(_ order: CodexChat.Order, of session: AgentSession, _ now: Occasion) {
        switch order {
        case .request(let request, let method, let params):
            ask(.chat(session, request), method, params, for: limit(of: request), now)
        case .answer(let id, let result): orders.append(.send(Self.mainChannel, CodexFrames.answer(id, result)))
        case .keep(let place): work(.keep(session), .keep([Fact(Self.threadFact + session.text, place.fact)]))
        case .record(let place): work(.aside, .keep([Fact(Self.threadFact + session.text, place?.fact)]))
        case .observed(let observations): orders.append(.observed(observations))
        case .note(let words): orders.append(.note(.words(words)))
        case .efforts:
            if !requests.has(.efforts) {
                ask(.efforts, "model/list", CodexFrames.none, for: Self.effortsLimit, now)
            }
        case .redial(let reason): drop(reason, .byBackOff, now)
        }
    }

    private func limit(of request: CodexChat.Request) -> Duration {
        switch request {
        case .interrupt, .stop: CodexChat.interruptLimit
        case .cleanUp(_, let attempt): CodexCleanUps.limit(of: attempt)
        case .probe: CodexChat.probeLimit
        case .start, .peek, .pauseGoal, .unarchive, .resume, .list, .items, .turn, .steer, .follow, .childTurns,
            .aside:
            CodexChat.answerLimit
        }
    }
}
