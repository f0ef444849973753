import AgentKit
import JSONReading
import Vocabulary

// Messages on their way, the runs they begin, and stops (openclaw.md#chatsend, openclaw.md#chatabort, openclaw.md#disconnects).
extension OpenClawSession {
    /// The gateway remembers a key for 300 s (openclaw.md#chatsend); the difference allows for transit.
    static var keyLife: Duration { .seconds(285) }

    // MARK: Send

    mutating func send(
        _ message: UserMessage, in session: AgentSession, as run: RunID, at now: Instant, wallMilliseconds: Int64
    ) {
        // The same message again: its answer came or is still to come.
        guard runs[run] == nil else { return }
        guard runs.hasRoom else {
            return answer(run, .refused(message: "Too many runs are open. Try again when some have ended."))
        }
        let files = RunFiles(
            files: message.files, missing: message.missing, areAlone: message.holdsFilesAlone)
        runs.begins(
            run,
            .init(
                session: session, text: message.prompt, files: files, stage: .held(since: now), lastHeard: reading(now)),
            .init(run: run, text: message.prompt, sentAtMilliseconds: wallMilliseconds), at: now)
        runs.isWanted(session)
        runs.models.wants(message.choice, for: run)
        runs.levels.wants(message.level, for: run)
        if isLive { handOver(run, at: now) }
    }

    /// Sends the message, or sends it again under the same key.
    mutating func handOver(_ run: RunID, at now: Instant) {
        guard let known = runs[run], let text = known.text, let gateway else { return }
        // The agent has not let go of the session's stopped run.
        if known.isHeld, runs.teardowns.holds(known.session) { return }
        // The message was stopped while its model was being set. It never leaves, but if it left before it may have arrived.
        if known.isStopped { return known.isAsked ? lookUpSend(run, in: known.session, at: now) : () }
        if gateway.grants("operator.write") == false {
            return refuse(run, because: scopeRemedy(["operator.write"]))
        }
        if let choice = runs.models.next(for: run, in: known.session) {
            return choose(choice, for: run, in: known.session, at: now)
        }
        if let (choice, word) = runs.levels.next(for: run, in: known.session) {
            return choose(choice, word, for: run, in: known.session, at: now)
        }
        guard known.files.files.isEmpty else { return load(run, gateway, at: now) }
        leave(run, text, FileLoads.Loaded(run: run, missing: known.files.missing), gateway, at: now)
    }

    /// Sends the message with the files that the gateway accepts; its text names the others.
    mutating func leave(_ run: RunID, _ text: String, _ loaded: FileLoads.Loaded, _ gateway: Gateway, at now: Instant) {
        guard let known = runs[run] else { return }
        var params = JSONObjectWriter()
        params.string("sessionKey", known.session.text)
        params.string("message", PromptText.noting(loaded.missing, behind: text))
        params.string("idempotencyKey", run.text)
        if !loaded.files.isEmpty { params.objects("attachments", loaded.files.map(Self.attachment)) }
        let body = params.finish()
        guard body.count + 256 <= gateway.maxPayload else {
            return refuse(run, because: "The message is larger than the gateway takes (\(gateway.maxPayload) bytes).")
        }
        follow(known.session, at: now)
        runs.leaves(run, at: now, read: reading(now))
        lookUps.leaveSend(of: run)
        uploads.leaves(run, as: requests.nextNumber, at: reading(now))
        let limit = Self.requestLimit + (loaded.files.isEmpty ? .zero : FrameTime.limit(for: body.count))
        ask(.send(run), "chat.send", body, limit: limit, at: now)
    }

    mutating func sendAnswered(
        _ run: RunID, _ payload: FrameNode?, _ error: Refusal?, _ said: [Observation], at now: Instant
    ) {
        guard let known = runs[run], case .asked(_, let tries, _) = known.stage else { return take(said, at: now) }
        let status = payload?["status"]?.string
        if let error {
            if error.isRetryable, status != "error", known.isStopped {
                runs.forget(run)
                return answer(run, .noRun)
            }
            // A gateway that stops waits for its runs first; the next process then accepts the message.
            let mayWait = tries < Self.triesLimit + 2 || error.reason == "gateway-restarting"
            if error.isRetryable, status != "error", mayWait {
                return runs.putOff(run, until: now + (error.retryAfter ?? .seconds(2)))
            }
            // The same key failed before: the history has that run's text (openclaw.md#chatsend).
            if status == "error", let taken = payload?["runId"]?.string.map({ RunID($0) }) {
                accept(run, as: taken, at: now)
                answer(run, .accepted(run: taken))
                runs.verdicts.isWritten(taken, error.message)
                runs.verdicts.isSaidToHaveFailed(taken, at: reading(now))
                return lookUp(taken, in: known.session, isAsked: false, at: now)
            }
            return refuse(run, because: error.missingScope.map { scopeRemedy([$0]) } ?? error.message)
        }
        guard let taken = payload?["runId"]?.string.map({ RunID($0) }) else {
            runs.forgetMessage(run)
            return take(said, at: now)
        }
        accept(run, as: taken, at: now)
        take(said, at: now)
        // The same key finished before: its terminal frames came already (openclaw.md#chatsend).
        if status == "ok" || status == "timeout" { lookUp(taken, in: known.session, isAsked: false, at: now) }
    }

    private mutating func accept(_ run: RunID, as taken: RunID, at now: Instant) {
        if runs.accepted(run, as: taken, at: now, read: reading(now)) { sendStop(taken, at: now) }
    }

    /// No answer in time: a retry under the same key is safe. A message with files is
    /// not repeated, since its first copy may still be on its way.
    mutating func sendUnanswered(_ run: RunID, at now: Instant) {
        guard let known = runs[run], case .asked(_, let tries, _) = known.stage else { return }
        if known.isHeard {
            accept(run, as: run, at: now)
            return answer(run, .accepted(run: run))
        }
        if tries < Self.triesLimit, !known.isStopped, known.files.files.isEmpty { return handOver(run, at: now) }
        lookUpSend(run, in: known.session, at: now)
    }

    /// A history settles whether the gateway has a message whose key it may
    /// have forgotten. `isThere` is nil if no history came.
    mutating func sendLookedUp(_ run: RunID, isThere: Bool?, at now: Instant) {
        guard let known = runs[run], case .asked(let since, let tries, _) = known.stage else { return }
        guard let isThere else {
            // The message may be there: its stop stays due.
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
        if known.files.areGone {
            return refuse(
                run, because: "The bridge has the message's files no more, and the agent did not get it: send it again."
            )
        }
        // Another copy on this slow socket would arrive after the gateway forgot the key.
        if known.isOnSocket, !known.files.files.isEmpty, !mayRepeat(known, at: now) {
            return refuse(run, because: "The agent's gateway did not answer.")
        }
        // After three tries on this link, another would not help.
        if now - since < Self.keyLife, tries >= Self.triesLimit {
            return refuse(run, because: "The agent's gateway did not answer.")
        }
        runs.holdAgain(run, at: now)
        handOver(run, at: now)
    }

    mutating func refuse(_ run: RunID, because message: String) {
        runs.forget(run)
        answer(run, .refused(message: message))
    }

    mutating func answer(_ run: RunID, _ answer: SendAnswer) {
        observed([.sendAnswered(asked: run, answer)])
    }

    // MARK: Stop

    mutating func abort(_ run: RunID, in session: AgentSession, reach: StopReach, at now: Instant) {
        if let known = runs[run], known.isHeld || known.resendAt != nil {
            runs.forgetMessage(run)
            uploads.remove(run)
            answer(run, .noRun)
            return advanceUploads(at: now)
        }
        // The message left on an earlier socket and waited to be sent again: no answer to it will come.
        if runs[run]?.isAsked == true, uploads.holds(run), requests.count(of: .send(run)) == 0 {
            runs.acceptedUnanswered(run)
            uploads.remove(run)
        }
        defer { advanceUploads(at: now) }
        runs.isStopped(run, reach)
        guard runs.stops[run] != nil || runs.stops.hasRoom else { return }
        // A repeated stop adds nothing: its answer, or its next try, is still to come.
        if runs.stops[run] == nil { runs.stops.keep(run, in: session, at: now) }
        if isLive, runs.stops[run]?.errand == .due { sendStop(run, at: now) }
    }

    mutating func sendStop(_ run: RunID, at now: Instant) {
        guard let stop = runs.stops[run] else { return }
        // A newer gateway knows a run that took a queued message by that
        // message's name alone, and a resumed run by the run's own.
        let other = runs.adopted.answer(to: run)
        let isOwn = gateway?.isNew == true && !stop.isUnknown
        runs.stops.asked(run)
        var params = JSONObjectWriter()
        params.string("sessionKey", stop.session.text)
        params.string("runId", (isOwn ? run : other ?? run).text)
        ask(.abort(run), "chat.abort", params.finish(), at: now)
    }

    /// If the gateway stopped nothing, the run has ended or never was. A refusal answers nothing: the run may continue.
    mutating func stopAnswered(_ run: RunID, _ payload: FrameNode?, _ error: Refusal?, at now: Instant) {
        guard let stop = runs.stops[run] else { return }
        let isAdopted = runs.adopted.answer(to: run) != nil
        let isRefused = error.map { !$0.isRetryable } ?? (payload?["aborted"]?.flag != true)
        if isRefused, isAdopted, gateway?.isNew == false || stop.isUnknown || error != nil {
            // The bridge may not stop that run; the history tells whether it continues.
            runs.stops.forget(run)
            runs.cannotStop(run)
            return lookUp(run, in: stop.session, isAsked: false, at: now)
        }
        if let error, error.isRetryable {
            return runs.stops.putOff(run, until: now + (error.retryAfter ?? .seconds(2)))
        }
        if error != nil {
            runs.stops.putOff(run, until: now + Self.deafPause)
            return lookUp(run, in: stop.session, isAsked: false, at: now)
        }
        if isRefused, isAdopted {
            runs.stops.isUnknown(run)
            return sendStop(run, at: now)
        }
        if payload?["aborted"]?.flag != true, runs.adopted.awaitsName(run) {
            // The message may begin later: the stop goes to the name under which it begins.
            return runs.stops.putOff(run, until: now + Self.stopPause)
        }
        runs.stops.forget(run)
        if payload?["aborted"]?.flag == true { return observed([.abortAnswered(run)]) }
        // The message's own answer is still to come, and tells whether there is a run to stop.
        if runs[run]?.isAsked == true { return }
        observed([.abortAnswered(run)])
        lookUp(run, in: stop.session, isAsked: false, at: now)
    }

    /// A gateway that does not answer is asked again, on this link and on the next.
    mutating func stopUnanswered(_ run: RunID, at now: Instant) {
        guard let stop = runs.stops[run] else { return }
        if stop.tries < Self.triesLimit { return sendStop(run, at: now) }
        runs.stops.putOff(run, until: now + Self.deafPause)
    }

    // MARK: Frames of runs

    mutating func notice(_ signal: RunSignal, isListing: Bool, at now: Instant) {
        switch signal.event {
        case .approvalRequested(let request):
            approvals.requested(request)
            runs.questions.mayBeAnswered(request.id, until: request.expiresAt)
            if isListing, request.subject == .exec { approvals.listed(request.id, in: signal.session) }
        case .approvalSettled(let settlement):
            runs.questions.decided(settlement.id, allows: settlement.outcome.allows, at: now)
            forget(settlement.id)
        case .finished(let end):
            guard let run = signal.run else { return }
            if end.reason != .aborted { runs.questions.answered(run) }
            if end.reason == .aborted, let known = runs[run], !known.isUntouched {
                let torn = runs.adopted.answer(to: run) ?? run
                runs.teardowns.begins(torn, in: known.session, isNew: gateway?.isNew == true, at: reading(now))
            }
            return ended(run, nextWithin: end.nextWithin, at: now)
        case .failed:
            if let run = signal.run { ended(run, at: now) }
            return
        case .paused(let call):
            runs.questions.expectFollowUp(of: call.approval, after: signal.run, in: signal.session, at: now)
        case .started, .text, .tool, .asked, .questionSettled, .retrying: break
        case .alive: return
        }
        if let run = signal.run { runs.told(of: run, in: signal.session, at: now, read: reading(now)) }
    }

    /// `nextWithin`: how long another follow-up may still come for the run.
    mutating func ended(_ run: RunID, nextWithin pause: Duration? = nil, at now: Instant) {
        let session = runs[run]?.session
        if let pause { runs.questions.awaitsNext(behind: run, until: now + pause) }
        runs.ended(run, isFollowed: pause != nil)
        lookUps.ended(run)
        if let session, runs.isLeft(session) { release(session, at: now) }
    }
}
