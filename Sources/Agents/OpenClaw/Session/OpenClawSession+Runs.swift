import AgentKit
import JSONReading
import Vocabulary

// Messages on their way, the runs they begin, and stops (openclaw.md#chatsend, openclaw.md#chatabort, openclaw.md#disconnects).
extension OpenClawSession {
    /// The gateway knows a key for 300 s (openclaw.md#chatsend); the rest is for the way there.
    static var keyLife: Duration { .seconds(285) }

    // MARK: Send

    mutating func send(
        _ message: UserMessage, in session: AgentSession, as run: RunID, at now: Instant, wallMilliseconds: Int64
    ) {
        // The same message again: its answer is still to come, or came.
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

    /// Also again, under the same key.
    mutating func handOver(_ run: RunID, at now: Instant) {
        guard let known = runs[run], let text = known.text, let gateway else { return }
        // The agent has not let go of the run before it.
        if known.isHeld, runs.teardowns.holds(known.session) { return }
        // Its model was set again meanwhile. A stopped message never leaves, and what left of it before may have arrived.
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

    /// The files go along that the gateway takes; the message says which do not.
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
            // A gateway that stops waits for its runs first, and the next one takes the message.
            let mayWait = tries < Self.triesLimit + 2 || error.reason == "gateway-restarting"
            if error.isRetryable, status != "error", mayWait {
                return runs.putOff(run, until: now + (error.retryAfter ?? .seconds(2)))
            }
            // The same key has failed already: what its run said is in the history (openclaw.md#chatsend).
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
        // The same key had finished already: its terminal frames are over (openclaw.md#chatsend).
        if status == "ok" || status == "timeout" { lookUp(taken, in: known.session, isAsked: false, at: now) }
    }

    private mutating func accept(_ run: RunID, as taken: RunID, at now: Instant) {
        if runs.accepted(run, as: taken, at: now, read: reading(now)) { sendStop(taken, at: now) }
    }

    /// No answer in time: whatever happened, the same key is safe. A long frame may still be on its way, and would be there twice as late.
    mutating func sendUnanswered(_ run: RunID, at now: Instant) {
        guard let known = runs[run], case .asked(_, let tries, _) = known.stage else { return }
        if known.isHeard {
            accept(run, as: run, at: now)
            return answer(run, .accepted(run: run))
        }
        if tries < Self.triesLimit, !known.isStopped, known.files.files.isEmpty { return handOver(run, at: now) }
        lookUpSend(run, in: known.session, at: now)
    }

    /// The history was asked for a message whose key the gateway may have forgotten; nil: it was not to be had.
    mutating func sendLookedUp(_ run: RunID, isThere: Bool?, at now: Instant) {
        guard let known = runs[run], case .asked(let since, let tries, _) = known.stage else { return }
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
        if known.files.areGone {
            return refuse(
                run, because: "The bridge has the message's files no more, and the agent did not get it: send it again."
            )
        }
        // On this socket, where one copy took too long, another one would be too late for its key.
        if known.isOnSocket, !known.files.files.isEmpty, !mayRepeat(known, at: now) {
            return refuse(run, because: "The agent's gateway did not answer.")
        }
        // On a link that was asked three times already, once more would be no help.
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
        // It left on an earlier socket, and was to leave again: no answer is to come.
        if runs[run]?.isAsked == true, uploads.holds(run), requests.count(of: .send(run)) == 0 {
            runs.acceptedUnanswered(run)
            uploads.remove(run)
        }
        defer { advanceUploads(at: now) }
        runs.isStopped(run, reach)
        guard runs.stops[run] != nil || runs.stops.hasRoom else { return }
        // The same again: its answer is still to come, or the next try has its time.
        if runs.stops[run] == nil { runs.stops.keep(run, in: session, at: now) }
        if isLive, runs.stops[run]?.errand == .due { sendStop(run, at: now) }
    }

    mutating func sendStop(_ run: RunID, at now: Instant) {
        guard let stop = runs.stops[run] else { return }
        // A newer gateway knows a run that took a queued message by that message's name alone, and one that it resumed by its own.
        let other = runs.adopted.answer(to: run)
        let isOwn = gateway?.isNew == true && !stop.isUnknown
        runs.stops.asked(run)
        var params = JSONObjectWriter()
        params.string("sessionKey", stop.session.text)
        params.string("runId", (isOwn ? run : other ?? run).text)
        ask(.abort(run), "chat.abort", params.finish(), at: now)
    }

    /// Where nothing was stopped the run must have ended, or never was. A refusal answers nothing: the run may go on.
    mutating func stopAnswered(_ run: RunID, _ payload: FrameNode?, _ error: Refusal?, at now: Instant) {
        guard let stop = runs.stops[run] else { return }
        let isAdopted = runs.adopted.answer(to: run) != nil
        let isRefused = error.map { !$0.isRetryable } ?? (payload?["aborted"]?.flag != true)
        if isRefused, isAdopted, gateway?.isNew == false || stop.isUnknown || error != nil {
            // Such a run is not the bridge's to stop: whether it goes on the history says.
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
            // It may begin later: the stop is owed to the name under which it does.
            return runs.stops.putOff(run, until: now + Self.stopPause)
        }
        runs.stops.forget(run)
        if payload?["aborted"]?.flag == true { return observed([.abortAnswered(run)]) }
        // Its answer is still to come, and says whether there is a run to stop.
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

    /// `nextWithin`: another follow-up may come for it.
    mutating func ended(_ run: RunID, nextWithin pause: Duration? = nil, at now: Instant) {
        let session = runs[run]?.session
        if let pause { runs.questions.awaitsNext(behind: run, until: now + pause) }
        runs.ended(run, isFollowed: pause != nil)
        lookUps.ended(run)
        if let session, runs.isLeft(session) { release(session, at: now) }
    }
}
