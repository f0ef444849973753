package import BridgeModel

extension VersionOne {
    package enum PostName: Decodable {
        package enum Part: Decodable {
            case more(Int)
            case late
            case line(Int)
        }

        case open
        case text(endOffset: Int)
        case taskStarted(TaskID)
        case taskProgress(TaskID)
        case taskEnded(TaskID)
        case approval(ApprovalID)
        case end
        case message(Part)
    }

    enum Post: Decodable {
        struct TaskStart: Decodable {
            var task: TaskID
            var kind: String
            var label: String?
            var arguments: JSON?
        }

        struct TaskProgress: Decodable {
            var task: TaskID
            var label: String?
            var percent: Int?
            var partialResult: JSON?
        }

        struct TaskEnd: Decodable {
            var task: TaskID
            var name: String?
            var status: Status
            var label: String?
            var error: String?
            var result: JSON?
        }

        struct WholeMessage: Decodable {
            var part: PostName.Part
            var text: String
            var usage: Usage?
        }

        case open
        case text(String)
        case taskStarted(TaskStart)
        case taskProgress(TaskProgress)
        case taskEnded(TaskEnd)
        case approval(Card)
        case end(End)
        case message(WholeMessage)
    }

    struct End: Decodable {
        enum FinishReason: String, Decodable { case stop, length, content_filter, tool_call }
        var text: String
        var usage: Usage?
        var finishReason: FinishReason?
        var form: Int
    }

    struct Lane: Decodable {
        struct Address: Decodable {
            var turn: TurnID
            var session: SessionID
            var interaction: InteractionID?
        }

        struct Unanswered: Decodable {
            var name: PostName
            var key: IdempotencyKey
            var form: Int
        }

        struct Waiting: Decodable {
            var post: Post
            var since: Instant
            var withoutInteraction: Bool
            var form: Int
        }

        var address: Address
        var message: MessageID?
        var epoch: Int
        var deltas: Int
        var streamed: Int
        var unanswered: [Unanswered]
        var ended: Bool
        var waiting: [Waiting]
        var bubbleIsLost: Bool
        var previewIsOver: Bool
        var windowIsOpen: Bool
        var isAbandoned: Bool
        var isClosing: Bool
    }
}
