package import AgentKit
package import ConversationEngine
package import JSONReading
package import Vocabulary

/// Claude Code on the conversation engine: a process for each chat, which speaks stream-json (claude-code.md).
///
/// - A prompt has a name of its own in the transcript: one that is missing there, or has no answer, is written again.
/// - An orphan of an earlier bridge continues its session: the chat waits for it, because a process beside it would fork the file.
package struct ClaudeDialect: Dialect {
    package typealias Slip = ClaudeSlip

    let settings: ClaudeSettings

    package init(_ settings: ClaudeSettings) { self.settings = settings }

    package var name: String { "Claude Code" }
    package var program: String { settings.program }
    package var folder: String { settings.folder }
    package var remedy: String {
        "install Claude Code, or name the program by `agent.command` or CLAUDE_COMMAND, and try "
            + "`\(settings.values.command.joined(separator: " "))` in a terminal"
    }

    package var terms: String { settings.values.permissionMode }

    package var habits: Habits {
        var habits = Habits()
        habits.again = .whereAbsent
        habits.finishesAlone = true
        habits.deniesInWords = true
        habits.asksBetweenRuns = true
        habits.pictureRoom = 10 << 20
        // Claude Code gives a silent stream of the model up after five minutes (claude-code.md#errors).
        habits.silence = .seconds(360)
        return habits
    }

    package func reading(of session: AgentSession, mark: String) -> ClaudeReading {
        ClaudeReading(session, mark: mark)
    }

    private static let silent = "Claude Code does not answer any more"

    // MARK: To a process

    package func reach(_ heard: Heard, _ reading: inout ClaudeReading, _ here: Here) -> Step<Reached> {
        guard let place = here.place.flatMap({ ClaudePlace($0) }) else {
            let seed = "\(here.session) \(here.now.wallMilliseconds) \(here.now.random)"
            return .done(begins(ClaudeFrames.uuid(of: seed), &reading, here, losesSession: false))
        }
        switch reading.reach.next(heard, place, here, in: settings.configFolder) {
        case .step(let step): return step
        case .found(isThere: true): return .done(Reached(settings.plan(.resume(place.session), in: here.folder)))
        case .found(isThere: false):
            // Either the session's only prompt never got into it, or the person removed the session.
            let isUnwritten = place.isUnwritten || here.run != nil
            let name =
                isUnwritten ? place.session : ClaudeFrames.uuid(of: "\(place.session) \(here.now.wallMilliseconds)")
            return .done(begins(name, &reading, here, losesSession: !isUnwritten))
        }
    }

    private func begins(
        _ name: String, _ reading: inout ClaudeReading, _ here: Here, losesSession: Bool
    ) -> Reached {
        reading.begins = name
        reading.unasked = settings.unasked
        return Reached(settings.plan(.new(name), in: here.folder), losesSession: losesSession)
    }

    package func greet(_ heard: Heard, _ reading: inout ClaudeReading, _ here: Here) -> Step<Void> {
        switch heard {
        case .begin: return .ask(ClaudeFrames.initialize(here.request), within: .seconds(60))
        case .answer(let frame):
            let answer = frame["response"]?["response"]
            if let error = frame["response"]?["error"]?.string { return .failed(error) }
            reading.models = ClaudeModels.list(answer)
            let mode = answer?["current_permission_mode"]?.string
            guard let mode, !ClaudePlace.sameMode(mode, settings.values.permissionMode) else { return .done(()) }
            return .failed(
                "it started in the permission mode \(mode) instead of \(settings.values.permissionMode), so it gets no message"
            )
        case .result, .timeIsOver: return .failed(Self.silent)
        }
    }

    package func join(_ heard: Heard, _ reading: inout ClaudeReading, _ here: Here) -> Step<Place?> {
        if let name = reading.begins { return .done(ClaudePlace(name, isUnwritten: true).kept) }
        guard let place = here.place.flatMap({ ClaudePlace($0) }) else { return .done(nil) }
        switch heard {
        case .begin: return .work(.find(pattern: place.transcripts(in: settings.configFolder), limit: 1))
        case .result(.found(let files)):
            if let file = files.first { return .work(.read(path: file, from: 0, limit: Self.transcriptBytes)) }
        case .result(.read(let rows, _)): reading.refused = ClaudeTranscript(rows).refusedWhileAway
        case .answer, .result, .timeIsOver: break
        }
        return .done(ClaudePlace(place.session, isUnwritten: false).kept)
    }

    // MARK: The transcript

    private static let transcriptBytes = 256 << 20

    package func find(
        _ sought: Sought, _ heard: Heard, _ reading: inout ClaudeReading, _ here: Here
    ) -> Step<Found> {
        guard let place = here.place.flatMap({ ClaudePlace($0) }) else { return .done(.absent) }
        switch heard {
        case .begin, .timeIsOver: return .work(.find(pattern: place.transcripts(in: settings.configFolder), limit: 1))
        case .result(.found(let files)):
            if let file = files.first { return .work(.read(path: file, from: 0, limit: Self.transcriptBytes)) }
            // A missing file proves nothing about a session whose first turn had begun, nor the successor's about a lost one.
            let isProof = sought.isOfTurn || place.isUnwritten && !here.hasLostSession
            return .done(isProof ? .absent : Self.lost("its process ended, and its session is gone"))
        case .result(.read(let rows, let size)):
            guard Int64(rows.count) == size else {
                return .done(Self.lost("its process ended, and its chat is too long to be read"))
            }
            return .done(Self.found(ClaudeTranscript(rows).fate(of: ClaudeFrames.uuid(of: sought.run.text))))
        case .result(.failed(let failure)) where failure.code != .absent && reading.reach.mayTryAgain():
            return .pause(.seconds(1))
        case .answer, .result:
            return .done(Self.lost("its process ended, and the transcript of this chat cannot be read"))
        }
    }

    private static func lost(_ words: String) -> Found {
        .fate(.failed(RunFailure(kind: .agentGone, message: words)))
    }

    private static func found(_ fate: ClaudeFate) -> Found {
        switch fate {
        case .neverTaken, .unbegun: .absent
        case .ended(let end): .fate(.ended(end))
        case .stopped(let text): .fate(.ended(RunEnd(text: text, reason: .aborted)))
        case .unfinished: lost("its process ended")
        case .failed(let message, _): .fate(.failed(RunFailure(message: message)))
        }
    }

    // MARK: Models

    package func choose(
        _ choice: ModelChoice, _ heard: Heard, _ reading: inout ClaudeReading, _ here: Here
    ) -> Step<ModelAnswer> {
        let wanted: String?
        switch choice {
        case .unchanged: return .done(.set(before: nil))
        case .own(let model): wanted = model ?? settings.values.model
        case .named(let model): wanted = model
        }
        switch heard {
        case .begin:
            if let wanted, wanted == reading.model { return .done(.set(before: nil)) }
            guard wanted.map({ ClaudeModels.has($0, reading.models) }) != false else {
                return .done(.refused(message: "Claude Code lists no such model"))
            }
            return .ask(ClaudeFrames.setModel(wanted, here.request))
        case .answer(let frame):
            if let error = frame["response"]?["error"]?.string { return .done(.refused(message: error)) }
            let before = reading.model ?? settings.values.model
            reading.model = wanted
            return .done(.set(before: before))
        case .result, .timeIsOver: return .done(.unsettled(message: "Claude Code did not answer"))
        }
    }

    package func choose(
        _ choice: LevelChoice, _ heard: Heard, _ reading: inout ClaudeReading, _ here: Here
    ) -> Step<LevelAnswer> {
        switch heard {
        case .begin: return .ask(ClaudeFrames.setThinking(tokens: ClaudeModels.tokens(choice), here.request))
        case .answer(let frame):
            if let error = frame["response"]?["error"]?.string { return .done(.refused(message: error)) }
            return .done(.set(before: nil, instead: nil))
        case .result, .timeIsOver: return .done(.unsettled(message: "Claude Code did not answer"))
        }
    }

    package func list(_ heard: Heard, _ reading: inout ClaudeReading, _ here: Here) -> Step<AgentReply> {
        if !reading.models.isEmpty { return .done(.models(reading.models)) }
        switch heard {
        case .begin: return .ask(ClaudeFrames.initialize(here.request), within: .seconds(60))
        case .answer(let frame): return .done(.models(ClaudeModels.list(frame["response"]?["response"])))
        case .result, .timeIsOver: return .done(.refused(message: "Claude Code does not answer"))
        }
    }

    // MARK: Beside the chats

    package var sidePlan: ChildPlan { settings.plan(.listing, in: nil) }

    package func examine(_ heard: Heard, _ reading: inout ClaudeReading, _ here: Here) -> Step<Examined> {
        guard case .answer(let frame) = heard else {
            if case .begin = heard { return .ask(ClaudeFrames.initialize(here.request), within: .seconds(60)) }
            return .failed(Self.silent)
        }
        if let error = frame["response"]?["error"]?.string { return .failed(error) }
        let answer = frame["response"]?["response"]
        guard ClaudeModels.isLoggedIn(answer?["account"]) else {
            return .done(
                .lacks(
                    "it is not logged in", .agentNotInitialised,
                    remedy:
                        "run `\(settings.values.command[0])` on this machine and type /login, or set ANTHROPIC_API_KEY")
            )
        }
        if let mode = answer?["current_permission_mode"]?.string,
            !ClaudePlace.sameMode(mode, settings.values.permissionMode)
        {
            return .done(
                .lacks(
                    "it started in the permission mode \(mode) instead of \(settings.values.permissionMode)",
                    .agentNotInitialised, remedy: "remove flags of permissions from `agent.command`"))
        }
        let version = answer?["claude_code_version"]?.string.map { " \($0)" } ?? ""
        return .done(.runs(version + (settings.unasked.map { ". \($0)" } ?? "")))
    }

    // MARK: Frames

    package func parse(_ line: UnsafeRawBufferPointer, capacity: Int, with parser: FrameParser) -> FrameNode? {
        guard line.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let root = parser.parse(line, capacity: capacity), root.isObject
        else { return nil }
        return root
    }

    package func answer(in frame: FrameNode) -> RequestAnswer? {
        guard frame["type"]?.holds("control_response") == true, let response = frame["response"] else { return nil }
        return RequestAnswer(
            response["request_id"]?.string ?? "", isRefusal: response["subtype"]?.holds("error") == true)
    }

    package func read(
        _ frame: FrameNode, of line: UnsafeRawBufferPointer, _ reading: inout ClaudeReading, _ here: Here,
        into reports: inout [Report<ClaudeSlip>]
    ) {
        let seen = reading.decoder.received(frame, at: here.now.now)
        if frame["type"]?.holds("control_request") == true {
            // The words before an ask are shown with it; the engine shows the ask itself.
            reports.append(.seen(seen.filter { !$0.isAsk }))
            if let reply = ClaudeVerdict.answer(to: frame, frame: line) {
                reports.append(.replies(reply))
            } else if let ask = ClaudeAsk(frame, frame: line) {
                // A background helper asks beside the open turn.
                let isBeside = frame["request"]?["agent_id"] != nil && !reading.decoder.hasHelper
                reports.append(.asks(ask.asked(of: isBeside ? nil : reading.going)))
            }
            return
        }
        reports.append(.seen(seen))
        // A process that runs does not take up a new login.
        if seen.contains(where: \.isLoginFailure) { reports.append(.outdated) }
        if reading.decoder.mustInterrupt {
            reading.decoder.willInterrupt()
            reports.append(.replies(ClaudeFrames.interrupt("sb-login")))
        }
        for run in reading.decoder.takeAnsweredBefore() { reports.append(.hadBefore(run)) }
        // Between runs no bubble could show it: the news waits for one.
        if here.run != nil || reading.going != nil, let limit = reading.decoder.takeLimit() {
            reports.append(.note(limit.words))
            reports.append(.tells("\(limit.words)."))
        }
        if let session = reading.decoder.sessionID, let known = here.place?.native, session != known {
            // The session changes after `/clear`, and its place once its first turn has begun.
            reports.append(.moved(ClaudePlace(session, isUnwritten: false).kept))
        }
        reports += modes(&reading)
        if reading.decoder.trouble?.hasPrefix("No conversation found") == true { reports.append(.sessionIsGone) }
    }

    /// Ends a process whose mode asks for nothing, and reports any other mode than the configured one.
    private func modes(_ reading: inout ClaudeReading) -> [Report<ClaudeSlip>] {
        guard let mode = reading.decoder.mode, mode != reading.mode else { return [] }
        let before = reading.mode ?? settings.values.permissionMode
        reading.mode = mode
        if mode == "bypassPermissions" {
            return [.broken("it works in the permission mode bypassPermissions, in which it asks nobody")]
        }
        // The mode that asks most needs no word.
        let isSame = ClaudePlace.sameMode(mode, before) || ClaudePlace.sameMode(mode, "default")
        return isSame ? [] : [.tells("Claude Code is in the permission mode \(mode) now.")]
    }

    package func say(_ wish: Wish<ClaudeSlip>, _ reading: inout ClaudeReading, _ here: Here) -> [[UInt8]] {
        switch wish {
        case .prompt(let run, let prompt):
            let uuid = ClaudeFrames.uuid(of: run.text)
            reading.decoder.willBegin(run, uuid: uuid)
            // A command carries no news: the next message does.
            defer { if !ClaudeFrames.isCommand(prompt) { reading.refused = [] } }
            return [ClaudeFrames.prompt(prompt, uuid: uuid, refused: reading.refused)]
        // A prompt into a turn would be joined with others, or read as a reminder.
        case .steer: return []
        case .stop:
            reading.decoder.willInterrupt()
            return [ClaudeFrames.interrupt(here.request)]
        case .takeBack(let run): return [ClaudeFrames.takeBack(ClaudeFrames.uuid(of: run.text), here.request)]
        case .probe: return [ClaudeFrames.initialize(here.request)]
        case .settle(let ask, let verdict):
            reading.decoder.willAnswer(ask.slip.request)
            return [ClaudeVerdict(verdict, isStopping: here.isStopping).frame(for: ask.slip)]
        // The end of its input alone would wait for background work.
        case .leave: return [ClaudeFrames.endSession("sb-leave")]
        }
    }

    package func probed(_ frame: FrameNode, _ reading: inout ClaudeReading) -> Activity {
        switch frame["response"]?["response"]?["session_state"]?.string {
        case "idle": .idle(hasQueue: false)
        case "running", "requires_action": .busy
        default: .alive
        }
    }
}

extension ClaudeAsk {
    /// `run`: the run of the open turn.
    fileprivate func asked(of run: RunID?) -> Ask<ClaudeSlip> {
        let content: Ask<ClaudeSlip>.Content =
            switch content {
            case .approval(let request): .card(request)
            case .questions(let questions): .questions(questions)
            case .refused: .unshowable
            }
        return Ask(slip.request, kind: slip.tool, content, slip: slip, run: run)
    }
}

extension ClaudeVerdict {
    fileprivate init(_ verdict: Verdict, isStopping: Bool) {
        self =
            switch verdict {
            case .allow: .allow
            case .allowAlways: .allowAlways
            case .deny(let words): .deny(words: words)
            case .answers(let answers): .answers(answers)
            case .unanswered: .unanswered
            case .dropped where isStopping: .stopped
            case .dropped: .refused("The run ended before the user could answer, so this call was not allowed.")
            }
    }
}

extension Observation {
    fileprivate var isAsk: Bool {
        guard case .signal(let signal) = self else { return false }
        switch signal.event {
        case .approvalRequested, .asked: return true
        default: return false
        }
    }

    fileprivate var isLoginFailure: Bool {
        guard case .signal(let signal) = self, case .failed(let failure) = signal.event else { return false }
        return failure.kind == .noLogin
    }
}
