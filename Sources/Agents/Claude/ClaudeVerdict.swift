import AgentKit
import JSONReading
import Vocabulary

/// Answer to a request of the process, as bytes (claude-code.md#answers).
enum ClaudeVerdict: Hashable, Sendable {
    case allow
    /// Allows the call and the slip's rules.
    case allowAlways
    /// The person's words instead of a yes.
    case deny(words: String?)
    /// Nobody decided in time.
    case unanswered
    /// The person stopped the run.
    case stopped
    /// Denied without a person, in these words.
    case refused(String)
    /// The answers in the order of the slip's questions.
    case answers([QuestionAnswer])

    static let declined = "The user declined this call."
    static let kept = "The user wants to keep planning: revise the plan, and ask again when it is done."

    /// No answer ends the turn: its words would be lost, for the model too.
    func frame(for slip: ClaudeSlip) -> [UInt8] {
        switch self {
        case .allow: return Self.allowed(slip, slip.input.text)
        case .allowAlways: return Self.allowed(slip, slip.input.text, rules: slip.always)
        case .deny(let words): return Self.denied(slip, Self.denial(words))
        case .unanswered: return Self.denied(slip, "Nobody answered in time, so this call was not allowed.")
        case .stopped: return Self.denied(slip, "The user stopped this run.")
        case .refused(let sentence): return Self.denied(slip, sentence)
        case .answers(let answers): return Self.answered(slip, answers)
        }
    }

    /// A denial has no speaker of its own, and an empty one reads as an empty failure: name the person.
    private static func denial(_ words: String?) -> String {
        guard let words, !words.allSatisfy(\.isWhitespace) else { return declined }
        return "The user declined this call and says: \(words)"
    }

    private static func answered(_ slip: ClaudeSlip, _ answers: [QuestionAnswer]) -> [UInt8] {
        switch slip.form {
        case .card: return denied(slip, declined)
        case .plan:
            switch answers.first {
            case .choices([ClaudeQuestions.approve]): return allowed(slip, slip.input.text)
            case .choices: return denied(slip, kept)
            case .text(let words): return denied(slip, "The user did not approve the plan and says: \(words)")
            case .declined, nil: return denied(slip, "The user did not approve the plan.")
            }
        case .questions(let questions, let list):
            let members = zip(questions, answers).compactMap { question, answer in
                text(answer).map { "\(JSONText.string(question.text).text):\(JSONText.string($0).text)" }
            }
            guard !members.isEmpty else { return denied(slip, "The user declined to answer.") }
            return allowed(slip, #"{"questions":\#(list.text),"answers":{\#(members.joined(separator: ","))}}"#)
        }
    }

    private static func text(_ answer: QuestionAnswer) -> String? {
        switch answer {
        case .choices(let labels): labels.isEmpty ? nil : labels.joined(separator: ", ")
        case .text(let words): words
        case .declined: nil
        }
    }

    private static func allowed(_ slip: ClaudeSlip, _ input: String, rules: [JSONText] = []) -> [UInt8] {
        var answer = JSONObjectWriter()
        answer.string("behavior", "allow")
        answer.value("updatedInput", JSONText(unchecked: input))
        if !rules.isEmpty { answer.objects("updatedPermissions", rules.map { Array($0.text.utf8) }) }
        return success(slip.request, answer.finish())
    }

    private static func denied(_ slip: ClaudeSlip, _ message: String) -> [UInt8] {
        var answer = JSONObjectWriter()
        answer.string("behavior", "deny")
        answer.string("message", message)
        return success(slip.request, answer.finish())
    }

    private static func success(_ request: String, _ answer: [UInt8]) -> [UInt8] {
        var response = JSONObjectWriter()
        response.string("subtype", "success")
        response.string("request_id", request)
        response.raw("response", answer)
        return enveloped(response)
    }

    private static func enveloped(_ response: consuming JSONObjectWriter) -> [UInt8] {
        var frame = JSONObjectWriter()
        frame.string("type", "control_response")
        frame.raw("response", response.finish())
        return frame.finish()
    }

    /// Answer to a request that no person decides, as each needs one. Nil for another request. `frame`: the bytes of the request.
    static func answer(to root: FrameNode, frame: UnsafeRawBufferPointer? = nil) -> [UInt8]? {
        guard root["type"]?.holds("control_request") == true, let id = root["request_id"]?.string else { return nil }
        if let ask = ClaudeAsk(root, frame: frame) {
            guard case .refused(let sentence) = ask.content else { return nil }
            return refused(sentence).frame(for: ask.slip)
        }
        let subtype = root["request"]?["subtype"]?.string ?? ""
        switch subtype {
        case "hook_callback": return success(id, Array("{}".utf8))
        default:
            var response = JSONObjectWriter()
            response.string("subtype", "error")
            response.string("request_id", id)
            response.string("error", "the bridge does not carry out \(subtype.isEmpty ? "this request" : subtype)")
            return enveloped(response)
        }
    }
}
