import AgentKit
import JSONReading
import Vocabulary

/// A `can_use_tool` request: a card that yes and no answer, or questions (claude-code.md#permissions).
struct ClaudeAsk {
    enum Content: Hashable {
        case approval(ApprovalRequest)
        case questions([Question])
        /// No person can answer the request: it is denied at once, in these words for the model.
        case refused(String)
    }

    let slip: ClaudeSlip
    let call: String?
    let content: Content

    /// Nil unless the process asks for a permission. `frame`: the bytes of the request, with its input unchanged.
    init?(_ root: FrameNode, frame: UnsafeRawBufferPointer? = nil) {
        guard root["type"]?.holds("control_request") == true, let id = root["request_id"]?.string,
            let request = root["request"], request["subtype"]?.holds("can_use_tool") == true,
            let tool = request["tool_name"]?.string
        else { return nil }
        let input = request["input"]
        let bytes = frame.flatMap { JSONSlice.member(["request", "input"], of: $0) }
        var slip = ClaudeSlip(
            request: id, tool: tool, input: bytes ?? input?.compact ?? JSONText(unchecked: "{}"))
        call = request["tool_use_id"]?.string
        switch tool {
        case "AskUserQuestion": content = ClaudeQuestions.content(request, into: &slip)
        case "ExitPlanMode": content = ClaudeQuestions.plan(request, into: &slip)
        default:
            slip.always = ClaudeRules.always(tool, request)
            content = .approval(ClaudeCard.request(id, tool, request, always: ClaudeRules.words(slip.always, tool)))
        }
        self.slip = slip
    }

    var events: [RunEvent] {
        switch content {
        case .approval(let request): [.approvalRequested(request)]
        case .questions(let questions): questions.map { .asked($0) }
        case .refused: []
        }
    }
}

/// The parts of a request that an answer needs after the frame is gone.
package struct ClaudeSlip: Hashable, Sendable {
    enum Form: Hashable, Sendable {
        case card
        /// The questions in the order of the request, and the list as it came: the answer repeats it.
        case questions([ClaudeQuestion], JSONText)
        case plan(QuestionID)
    }

    var request: String
    var tool: String
    /// The input's bytes, unchanged: a yes runs exactly these.
    var input: JSONText
    /// Entries of `updatedPermissions` for an "always"; empty if none is offered.
    var always: [JSONText] = []
    var form = Form.card

    /// Questions that are open under this slip.
    var questions: [QuestionID] {
        switch form {
        case .card: []
        case .questions(let questions, _): questions.map(\.id)
        case .plan(let id): [id]
        }
    }
}

struct ClaudeQuestion: Hashable, Sendable {
    var id: QuestionID
    /// The key of its answer.
    var text: String
    var labels: [String]
}
