import Vocabulary

/// Every sentence that a bubble can show and the agent did not write. Each says what happened and what a person can do.
enum Sentences {
    static let stopped = "Stopped."
    static let stoppedWaiting =
        "Stopped before it began, so the agent did not get this message. Please send it again if it is still meant."
    static let emptyAnswer = "The agent finished without an answer."
    static let cutShort =
        "The agent handed out only a part of this answer. Please look at the rest on the agent's machine."
    static let cameInTheOpen =
        "This message came unencrypted, so somebody else may have written it. It answers no question of this chat."
    static let noRun = "The agent took this as a command. There is nothing more to show."
    static let agentLost =
        "The connection to the agent was lost, and it does not know what became of this run. Please check what it did, and ask again."
    static let conversationLost =
        "The agent no longer has this chat's earlier conversation. This is a new one: it does not know what was said before."
    static let bridgeStopped = "The bridge was stopped before the agent had finished. Please ask again."
    static let unreadable =
        "The bridge could not read what it had kept of this answer, so it ends here. Please ask again."
    static let installationChanged =
        "The bridge was paired anew before the agent had finished. Please ask again in a chat of the new pairing."
    static let stillNothing = "Still nothing. Stop it with the button or /bridge stop."
    /// The bridge stops no run that it did not begin, so it offers no remedy.
    static let stillNothingOfOthers = "Still nothing."
    static let goesOn = "goes on"
    static let windowClosed = "The run goes on. What comes later follows as a message."
    static let windowClosedWhileWaiting =
        "The agent is still busy with an earlier message. The answer to this one follows as a message."
    static let windowClosedWhileAway =
        "The agent cannot be reached at the moment. What comes later follows as a message."
    static let windowClosedWhileHolding =
        "The approval is still open. What comes after it follows as a message."
    static let archived = "The chat was archived. The run goes on, and the rest of it is not shown here."
    static let blocked = "The relay refused to show this answer."
    static let tooLong =
        "The answer could not be shown here: the relay refused its text. Please look at it on the agent's machine."
    static let followsAsMessage = "The relay did not take the answer here. It follows as a message."
    static let joined = "The agent answers this together with the message before it."
    static let followUpMissing = "The agent did not say what came after the approval. Please ask it."
    static let approvalExpired = "The approval was not answered in time."
    static let approvalUnknown = "The agent no longer waited for this approval."
    static let approvalCancelled = "The approval was withdrawn by the agent."
    static let decisionInDoubt = "The agent did not confirm this decision, so it may not have got it."
    static let approvalImpossible =
        "The agent asked for a decision that cannot be given on the phone, so it was refused."
    static let refusedInChat = "Refused by a message in this chat."
    static let refusedBefore = "This was refused by a message in the chat, so the tap changes nothing."
    static let tapInstead =
        "Tap Allow or Deny on the card, or write what to do instead; this message was not sent."
    static let filesDecideNothing =
        "An approval waits for your answer. A message with files does not decide it, so this one went its ordinary way."
    static let writtenBeforeCard =
        "An approval waits for your answer. This message was written before its card could be read, so it does not decide it."
    static let askHasNoCard =
        "An approval waits for your answer without a card, so this message does not decide it. /bridge asks shows it again."
    static let cardIsOnItsWay =
        "An approval waits for your answer, and its card is still on its way, so this message does not decide it."
    static let questionFirst =
        "An approval and a question wait for your answers. Tap the card, since a message is for the question first."
    static let nothingToRefuse = "No approval of this chat waits for your answer, so there is nothing to refuse."
    static let nobodyAnswered = "Nobody answered. It still waits."
    static let unansweredForGood = "Nobody answered for as long as the bridge holds a question, so it was refused."
    static let askStaysOpen =
        "An approval was not answered here for as long as the bridge holds it. It is still open at the agent: please decide it there."
    static let askReplaced = "The agent asks for something else now. The question before it is over."
    static let askedAnew = "What was asked before the bridge was updated is asked anew, so this answer does not count."
    static let decisionDropped =
        "An answer that was given before the bridge was updated had not left, and does not count. It is asked anew."
    static let tooLongToAllow = "The whole of it could not be shown, so it was refused."
    static let approvalLeftUnshown =
        "The agent asked for an approval that could not be shown here. Please decide it on the agent's machine."
    static let questionEnded = "The run ended before the question was answered."
    static let questionStaysOpen = "The question is still open."
    static let answerNeedsWords = "An answer needs words."
    static let noSuchOption = "That is none of the options."
    static let ambiguousOption =
        "That could be more than one of the options; # before the number makes it clear, as in #2."
    static let answerTooLate =
        "The question was over before this came, so it was not passed on. If it is meant as a message, please send it again."
    static let answerInDoubt =
        "The connection to the agent was lost before it confirmed this answer, so it may not have got it."
    static let answerStopped = "The run was stopped, so this answer counts no more."
    static let decisionNotAllowed =
        "The agent does not take this decision for this approval, so it was refused. Please ask again."
    static let narrowedToOnce =
        "\u{201C}Always\u{201D} could not be granted to the agent as you chose it, so this was allowed once. It will ask again."
    static let narrowedToSession =
        "\u{201C}Always\u{201D} could not be granted to the agent as you chose it, so this was allowed for this session."
    static let emptyMessage = "This message was empty, so there was nothing to pass on to the agent."
    static let keyMissing =
        "This message is encrypted, and its key has not come to the bridge, so the agent did not get it. Please send it again."
    static let keyGone =
        "The answer is encrypted, and its key is no longer there, so it cannot be shown. Please look at it on the agent's machine."
    static let continues = "continues"
    static let denied = "denied"

    /// Fixed sentences without a word of the user or the agent. A turn without a key may say them in the open.
    static let withoutContent: Set = [
        stopped, bridgeStopped, unreadable, installationChanged, agentLost, keyMissing, keyGone, notTaken(.unreadable),
        notTaken(.cameOpen), notTaken(.cameSealed),
    ]

    static func notTaken(_ refusal: MessageRefusal) -> String {
        switch refusal {
        case .unreadable:
            "This message is encrypted, and the bridge cannot read it, so the agent did not get it. Please send it again."
        case .cameOpen:
            "This bridge takes encrypted messages only, so the agent did not get this one. Please write it in an encrypted chat."
        case .cameSealed:
            "This message is encrypted, and this bridge is set to read none that are. Please start an unencrypted chat."
        }
    }

    /// Names the remedy if one is known: the reader may be able to apply it.
    static func agentAway(_ remedy: String?) -> String {
        let away = "The agent could not be reached, so this message was not delivered."
        guard let remedy else { return "\(away) Please check that it is running, and send it again." }
        return "\(away)\n\(words(remedy))\nThen send it again."
    }

    static func noOption(_ number: String) -> String { "There is no option \(words(number))." }

    /// Empty words decline the question.
    static func answered(_ words: String) -> String {
        words.isEmpty ? "The question was declined." : "Answered: \(words)"
    }

    /// The question ended without our answer. `title`: set if the chat has not seen the question.
    static func over(_ settlement: QuestionSettlement, title: String?) -> String {
        let what = title.map { "The question \u{201C}\(words($0))\u{201D}" } ?? "The question"
        return switch settlement.reason {
        case .answered, .answeredElsewhere: "\(what) was answered elsewhere."
        case .mistaken(let answer): mistaken(answer)
        case .expired: "\(what) was not answered in time."
        case .unknown: "The agent no longer waited for this answer."
        case .cancelled: "\(what) was withdrawn by the agent."
        }
    }

    /// Quotes the choice, so that the person can give it in other words.
    static func mistaken(_ answer: String) -> String {
        "Your answer \u{201C}\(words(answer))\u{201D} was not passed on: the agent would have got another option, whose name contains it. "
            + "The question was skipped; please tell the agent in a message."
    }

    static func questionLeft(_ title: String) -> String {
        "The agent asked something that could not be shown here. Please answer it on the agent's machine: \(words(title))"
    }

    static func questionImpossible(_ title: String) -> String {
        "The agent asked something that cannot be answered on the phone, so it was declined: \(words(title))"
    }

    /// The line stands behind an answer, or alone.
    static func refusedAsk(_ title: String) -> String { "Refused: \(words(title))" }

    static func approvalNotShown(_ question: String) -> String {
        "The agent asked for an approval that could not be shown on the phone, so it was refused: \(words(question))"
    }

    /// The bridge did not start the run, and the relay's own answer is not a person's: the ask stays open.
    static func approvalLeft(reason: String) -> String {
        "The approval was closed here (\(words(reason))) and is still open at the agent. Please decide it on the agent's machine."
    }

    static func allowedByRelay(reason: String) -> String {
        "The relay allowed it without you (\(words(reason))), which does not count. It still waits."
    }

    static func approvalDenied(reason: String) -> String { "The approval was denied: \(words(reason))." }

    static func narrowed(to grant: ApprovalGrant) -> String {
        grant.decision == .approveAlways ? narrowedToSession : narrowedToOnce
    }

    static func decidedElsewhere(_ decision: ApprovalDecision) -> String {
        switch decision {
        case .approve, .approveAlways: "The approval was given elsewhere."
        case .deny: "The approval was denied elsewhere."
        }
    }

    static func modelIsFixed(_ model: String) -> String {
        "The model \(name(ofModel: model)) was not set: this agent's model cannot be chosen on the phone. Its own model answered."
    }

    static func modelIsNoName(_ model: String) -> String {
        "The chosen model was not set, because its name is none that an agent could have: \(name(ofModel: model))"
    }

    static func modelRefused(_ model: String, _ reason: String) -> String {
        "The model \(name(ofModel: model)) could not be set, so the one before it answered. It is tried again with the next message. "
            + "(\(words(reason)))"
    }

    static func modelInQuarantine(_ model: String) -> String {
        "The agent refused the model \(name(ofModel: model)) \(ModelBook.refusalLimit) times. It is not tried again until another one is "
            + "chosen; the one before it answers."
    }

    static func ownModelRefused(_ reason: String) -> String {
        "The agent's own model could not be set again, so the last chosen one answered. (\(words(reason)))"
    }

    static func levelIsLower(_ level: ThoughtLevel, _ instead: String) -> String {
        "The agent's model cannot think at the level “\(level.rawValue)”; it answers with its level “\(words(instead))”."
    }

    static func levelRefused(_ level: ThoughtLevel, _ reason: String) -> String {
        "The thinking level “\(level.rawValue)” could not be set, so the level before it counts. It is tried again with the next message "
            + "that names it. (\(words(reason)))"
    }

    static func ownLevelRefused(_ reason: String) -> String {
        "The agent's own thinking level could not be set again, so the last chosen one counts. (\(words(reason)))"
    }

    private static func name(ofModel model: String) -> String { TextCut.marked(words(model), atMost: 100) }

    /// The reason is the relay's code (relay.md#others).
    static func toolStopped(_ tool: String, reason: String?) -> String {
        let what = "The tool \(TextCut.marked(words(tool), atMost: 60))"
        let why =
            reason == "deadline_exceeded" ? "took longer than the relay allows" : "was cancelled on the phone"
        return "\(what) \(why). The agent cannot end a tool alone, so its run was stopped."
    }

    static let toolGoesOn = "not the bridge's own run, so it goes on at the agent"

    /// One line for each file.
    static func missing(_ files: [MissingFile]) -> String? {
        files.isEmpty ? nil : files.map { words($0.sentence) }.joined(separator: "\n")
    }

    static func refused(_ message: String) -> String { "The agent refused this message: \(words(message))" }

    static func failed(_ failure: RunFailure) -> String {
        switch failure.kind {
        case .rateLimit:
            "The model's rate limit is reached. Please wait a little and ask again. (\(words(failure.message)))"
        case .timeout: "The model did not answer in time. Please ask again. (\(words(failure.message)))"
        case .contextLength:
            "The conversation is too long for the model. Please begin a new chat. (\(words(failure.message)))"
        case .refusal: "The model refused to answer. Please ask in another way. (\(words(failure.message)))"
        case .agentGone: "The agent stopped before it had finished. Please ask again. (\(words(failure.message)))"
        case .other: "The agent could not finish. Please ask again. (\(words(failure.message)))"
        case .noLogin: "The agent needs a login. Please ask again once it has one. (\(words(failure.message)))"
        case .queued:
            "The agent has not worked on this yet. It keeps the message, and works on it with your next one: "
                + "please do not send it again. (\(words(failure.message)))"
        case .unstoppable: "This could not be stopped, and goes on. (\(words(failure.message)))"
        }
    }

    /// Puts foreign words on one line.
    private static func words(_ message: String) -> String {
        let line = message.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
        return line.isEmpty ? "no reason given" : TextCut.marked(line, atMost: 400)
    }
}
