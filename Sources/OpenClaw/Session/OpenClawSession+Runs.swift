import AgentKit
import BridgeModel
import JSONReading

// Messages on their way, the runs they begin, and stops (openclaw.md#chatsend, openclaw.md#chatabort, openclaw.md#disconnects).
extension OpenClawSession {
    struct OpenRun {
        enum Stage: Hashable {
            /// Not a byte has left.
            case held(since: Instant)
            /// It left, and the gateway has not answered. `since` is the first time.
            case asked(since: Instant, tries: Int)
            case accepted
        }

        var session: AgentSession
        /// Nil for a run that was not begun by this session.
        var text: String?
        var stage: Stage
        var lastHeard: Instant
        /// A frame of it was seen.
        var isHeard = false
        /// The person does not want it any more: it must not leave again.
        var isStopped = false
        /// The gateway did not take it, and asked for a pause.
        var resendAt: Instant?
        /// Its frames were lost for a while.
        var hasMissed = false
        /// Its end came, and tells the newest segment alone: the history is asked for those that were missed.
        var heldEnd: RunEnd?
        /// Look-ups in a row that found nothing.
        var misses = 0

        var isFollowed: Bool { stage == .accepted }
        var isHeld: Bool { if case .held = stage { true } else { false } }

        /// The core explains a message that never left after 2 minutes (DESIGN.md#a-runs-journey), and closes a turn after 30.
        var givenUpAt: Instant? {
            switch stage {
            case .held(let since): since + .seconds(120)
            case .asked(let since, _): since + .seconds(1_800)
            case .accepted: nil
            }
        }
    }

    /// What is known of the message that began a run, also after its end: a history may be asked about it.
    struct Asked {
        var question: OpenClawHistory.Question
        var at: Instant
    }

    struct KeptStop {
        var session: AgentSession
        var until: Instant
        var tries = 0
        /// On this socket, and its answer is still to come.
        var isAsked = false
        /// The gateway gave no answer, or put it off.
        var resendAt: Instant?
    }

    struct AwaitedFollowUp {
        var session: AgentSession
        /// Some are lost (openclaw.md#approvals): it is not awaited for ever.
        var until: Instant
    }

    static var runsLimit: Int { 256 }
    /// From the decision to the follow-up's end.
    private static var followUpPatience: Duration { .seconds(600) }
    /// As long as the core owes it.
    private static var stopLife: Duration { .seconds(24 * 3_600) }
    /// The gateway knows a key for 300 s (openclaw.md#chatsend); the rest is for the way there.
    static var keyLife: Duration { .seconds(285) }
    private static var missesLimit: Int { 30 }
    static var followUpPrefix: String { "exec-approval-followup:" }

    // MARK: Send

    mutating func send(
        _ message: UserMessage, in session: AgentSession, as run: RunID, at now: Instant, wallMilliseconds: Int64
    ) {
        // The same message again: its answer is still to come, or came.
        guard runs[run] == nil else { return }
        guard runs.count < Self.runsLimit else {
            return answer(run, .refused(message: "Too many runs are open. Try again when some have ended."))
        }
        if !message.attachments.isEmpty {
            orders.append(.note(.attachmentsLeftOut(run, count: message.attachments.count)))
        }
        runs[run] = OpenRun(session: session, text: message.text, stage: .held(since: now), lastHeard: now)
        if questions.count >= 2 * Self.runsLimit { questions = questions.filter { runs[$0.key] != nil } }
        questions[run] = Asked(
            question: .init(run: run, text: message.text, sentAtMilliseconds: wallMilliseconds), at: now)
        if isLive { handOver(run, at: now) }
    }

    /// Also again, under the same key.
    mutating func handOver(_ run: RunID, at now: Instant) {
        guard let known = runs[run], let text = known.text, let gateway else { return }
        if gateway.grants("operator.write") == false {
            return refuse(run, because: scopeRemedy(["operator.write"]))
        }
        var params = JSONObjectWriter()
        params.string("sessionKey", known.session.text)
        params.string("message", text)
        params.string("idempotencyKey", run.text)
        let body = params.finish()
        guard body.count + 256 <= gateway.maxPayload else {
            return refuse(run, because: "The message is larger than the gateway takes (\(gateway.maxPayload) bytes).")
        }
        follow(known.session, at: now)
        switch known.stage {
        case .held, .accepted: runs[run]?.stage = .asked(since: now, tries: 1)
        case .asked(let since, let tries): runs[run]?.stage = .asked(since: since, tries: tries + 1)
        }
        runs[run]?.resendAt = nil
        runs[run]?.lastHeard = now
        lookUps[run]?.settlesSend = false
        ask(.send(run), "chat.send", body, at: now)
    }

    mutating func sendAnswered(
        _ run: RunID, _ payload: FrameNode?, _ error: Refusal?, _ said: [Observation], at now: Instant
    ) {
        guard let known = runs[run], case .asked(_, let tries) = known.stage else { return take(said, at: now) }
        let status = payload?["status"]?.string
        if let error {
            if error.isRetryable, status != "error", known.isStopped {
                stops[run] = nil
                runs[run] = nil
                return answer(run, .noRun)
            }
            if error.isRetryable, status != "error", tries < Self.triesLimit + 2 {
                runs[run]?.resendAt = now + (error.retryAfter ?? .seconds(2))
                return
            }
            return refuse(run, because: error.missingScope.map { scopeRemedy([$0]) } ?? error.message)
        }
        guard let taken = payload?["runId"]?.string.map({ RunID($0) }) else {
            runs[run] = nil
            return take(said, at: now)
        }
        accept(run, as: taken, at: now)
        take(said, at: now)
        // The same key had finished already: its terminal frames are over (openclaw.md#chatsend).
        if status == "ok" || status == "timeout" { lookUp(taken, in: known.session, isAsked: false, at: now) }
    }

    /// The gateway may have put the message into a run of another name: that one is followed.
    private mutating func accept(_ run: RunID, as taken: RunID, at now: Instant) {
        runs[run]?.stage = .accepted
        runs[run]?.lastHeard = now
        guard let known = runs[run] else { return }
        if taken != run {
            runs[run] = nil
            stops[run] = nil
            if runs[taken] == nil { runs[taken] = known }
            // The same text runs there (openclaw.md#chatsend), under a key that is not ours: its rows are known by the text.
            if questions[taken] == nil, let text = known.text {
                questions[taken] = Asked(
                    question: .init(run: taken, text: text), at: questions[run]?.at ?? now)
            }
        }
        // A stop that overtook the message, or named it as we did, stopped nothing.
        if known.isStopped, taken != run || stops[run] == nil {
            runs[taken]?.isStopped = true
            keepStop(taken, in: known.session, at: now)
            sendStop(taken, at: now)
        }
    }

    /// No answer in time: whatever happened, the same key is safe.
    mutating func sendUnanswered(_ run: RunID, at now: Instant) {
        guard let known = runs[run], case .asked(_, let tries) = known.stage else { return }
        if known.isHeard {
            accept(run, as: run, at: now)
            return answer(run, .accepted(run: run))
        }
        if tries < Self.triesLimit, !known.isStopped { return handOver(run, at: now) }
        lookUpSend(run, in: known.session, at: now)
    }

    /// The history was asked for a message whose key the gateway may have forgotten; nil: it was not to be had.
    mutating func sendLookedUp(_ run: RunID, isThere: Bool?, at now: Instant) {
        guard let known = runs[run], case .asked(let since, let tries) = known.stage else { return }
        guard let isThere else {
            // It may be: what is owed to it stays owed.
            if known.isStopped { return accept(run, as: run, at: now) }
            return refuse(
                run,
                because: "The agent's gateway does not say whether it got the message: look into the chat, and send it "
                    + "again if it is not there.")
        }
        if isThere {
            accept(run, as: run, at: now)
            return answer(run, .accepted(run: run))
        }
        if known.isStopped { return refuse(run, because: "The message was stopped before the agent had it.") }
        // On a link that was asked three times already, once more would be no help.
        if now - since < Self.keyLife, tries >= Self.triesLimit {
            return refuse(run, because: "The agent's gateway did not answer.")
        }
        runs[run]?.stage = .held(since: now)
        handOver(run, at: now)
    }

    mutating func refuse(_ run: RunID, because message: String) {
        runs[run] = nil
        stops[run] = nil
        answer(run, .refused(message: message))
    }

    mutating func answer(_ run: RunID, _ answer: SendAnswer) {
        observed([.sendAnswered(asked: run, answer)])
    }

    // MARK: Stop

    mutating func abort(_ run: RunID, in session: AgentSession, at now: Instant) {
        if let known = runs[run], known.isHeld || known.resendAt != nil {
            runs[run] = nil
            return answer(run, .noRun)
        }
        runs[run]?.isStopped = true
        guard stops[run] != nil || stops.count < Self.runsLimit else { return }
        // The same again: its answer is still to come, or the next try has its time.
        if stops[run] == nil { keepStop(run, in: session, at: now) }
        if isLive, stops[run]?.isAsked == false, stops[run]?.resendAt == nil { sendStop(run, at: now) }
    }

    mutating func keepStop(_ run: RunID, in session: AgentSession, at now: Instant) {
        stops[run] = KeptStop(session: session, until: now + Self.stopLife)
    }

    mutating func sendStop(_ run: RunID, at now: Instant) {
        guard let stop = stops[run] else { return }
        stops[run]?.tries += 1
        stops[run]?.isAsked = true
        stops[run]?.resendAt = nil
        var params = JSONObjectWriter()
        params.string("sessionKey", stop.session.text)
        params.string("runId", run.text)
        ask(.abort(run), "chat.abort", params.finish(), at: now)
    }

    /// Where nothing was stopped the run must have ended, or never was. A refusal answers nothing: the run may go on.
    mutating func stopAnswered(_ run: RunID, _ payload: FrameNode?, _ error: Refusal?, at now: Instant) {
        guard let stop = stops[run] else { return }
        if let error, error.isRetryable { return putOffStop(run, for: error.retryAfter ?? .seconds(2), at: now) }
        if error != nil {
            putOffStop(run, for: Self.deafPause, at: now)
            return lookUp(run, in: stop.session, isAsked: false, at: now)
        }
        stops[run] = nil
        if payload?["aborted"]?.flag == true { return observed([.abortAnswered(run)]) }
        // Its answer is still to come, and says whether there is a run to stop.
        if case .asked = runs[run]?.stage { return }
        observed([.abortAnswered(run)])
        lookUp(run, in: stop.session, isAsked: false, at: now)
    }

    /// A gateway that does not answer is asked again, on this link and on the next.
    mutating func stopUnanswered(_ run: RunID, at now: Instant) {
        guard let stop = stops[run] else { return }
        if stop.tries < Self.triesLimit { return sendStop(run, at: now) }
        putOffStop(run, for: Self.deafPause, at: now)
    }

    private mutating func putOffStop(_ run: RunID, for pause: Duration, at now: Instant) {
        stops[run]?.isAsked = false
        stops[run]?.resendAt = now + pause
    }

    // MARK: Frames of runs

    /// Any frame of a run shows that it lives, also one that tells the core nothing.
    mutating func noticeRun(_ payload: FrameNode?, at now: Instant) {
        guard !runs.isEmpty, let name = payload?["runId"]?.string else { return }
        runs[RunID(name)]?.lastHeard = now
    }

    mutating func notice(_ signal: RunSignal, isListing: Bool, at now: Instant) {
        switch signal.event {
        case .approvalRequested(let request):
            approvals.requested(request)
            if isListing, request.subject == .exec { approvals.listed(request.id, in: signal.session) }
        case .approvalSettled(let settlement): forget(settlement.id)
        case .finished, .failed:
            if let run = signal.run { ended(run) }
            return
        case .paused(let call): expectFollowUp(of: call.approval, after: signal.run, in: signal.session, at: now)
        case .started, .text, .tool, .retrying: break
        }
        guard let run = signal.run else { return }
        if runs[run] == nil, run.text.hasPrefix(Self.followUpPrefix), let session = signal.session,
            runs.count < Self.runsLimit
        {
            runs[run] = OpenRun(session: session, stage: .accepted, lastHeard: now)
        }
        runs[run]?.isHeard = true
        runs[run]?.misses = 0
    }

    mutating func expectFollowUp(
        of approval: ApprovalID, after run: RunID?, in session: AgentSession?, at now: Instant
    ) {
        if let run { questions[origin(of: run)]?.question.approvals.insert(approval) }
        guard let session else { return }
        if awaited.count >= Self.runsLimit { awaited.removeAll() }
        awaited[approval] = AwaitedFollowUp(session: session, until: now + GatewayApprovals.life + Self.followUpPatience)
    }

    /// What a follow-up asks for belongs to the run that it follows.
    private func origin(of run: RunID) -> RunID {
        guard run.text.hasPrefix(Self.followUpPrefix) else { return run }
        let asked = questions.filter {
            $0.value.question.approvals.contains { OpenClawHistory.isFollowUp(run, of: $0) }
        }
        return asked.keys.min() ?? run
    }

    mutating func ended(_ run: RunID) {
        if run.text.hasPrefix(Self.followUpPrefix) {
            awaited = awaited.filter { !OpenClawHistory.isFollowUp(run, of: $0.key) }
        }
        runs[run] = nil
        stops[run] = nil
        if lookUps[run]?.isAsked == false { lookUps[run] = nil }
    }

    /// A run that nobody finds is not looked for for ever; the core has its own patience.
    mutating func missed(_ run: RunID) {
        runs[run]?.misses += 1
        if let misses = runs[run]?.misses, misses >= Self.missesLimit, runs[run]?.isFollowed == true { runs[run] = nil }
    }
}
