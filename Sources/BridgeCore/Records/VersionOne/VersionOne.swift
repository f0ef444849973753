import BridgeModel

/// Records of version 1: what the compiler made of the machines as they were then. Frozen: these types mirror that coding and
/// follow no machine. What they read becomes the newest form.
package enum VersionOne {
    package struct Record: Decodable {
        var turn: Turn
        var lane: Lane
        var renamed: [TaskID: TaskID]
    }

    package struct Opening: Decodable {
        var id: TurnID
        var session: SessionID
        var interaction: InteractionID?
        var agentSession: AgentSession
        var run: RunID
        var message: Message?
        var receivedAt: Instant
        var windowEnds: Instant
    }

    struct Message: Decodable {
        var id: MessageID
        var session: SessionID
        var interaction: InteractionID?
        var text: String
        var attachments: [Attachment]
        var model: String?
        var thoughtLevel: String?
    }

    struct Attachment: Decodable {
        var url: String?
        var key: String?
        var mimeType: String?
        var name: String?
    }

    struct Turn: Decodable {
        enum Phase: Decodable {
            case waiting, handedOver, running, holding
            case asking, searching(since: Instant)
            case over(Outcome)
            case closed(Outcome)
        }

        enum Outcome: String, Decodable { case answered, aborted, failed, lost, neverSent, gone }

        struct Text: Decodable {
            var base: String
            var ended: String
            var hasGap: Bool
            var isIncomplete: Bool
            var isTorn: Bool
        }

        struct Preview: Decodable {
            enum State: String, Decodable { case inStep, ahead, apart, over }
            var limit: Int
            var state: State
        }

        struct Names: Decodable {
            var usedLate: Bool
            var more: Int
            var lines: Int
        }

        struct Deadlines: Decodable {
            var window: Instant?
            var agent: Instant?
            var stop: Instant?
            var followUp: Instant?
            var retry: Instant?
            var look: Instant?
            var ask: Instant?
            var abandon: Instant?
        }

        var opening: Opening
        var phase: Phase
        var text: Text
        var preview: Preview
        var tools: Tools
        var approvals: Approvals
        var runs: [RunID]
        var endedRuns: [RunID]
        var closingLines: [String]
        var usage: Usage?
        var usageOfEarlierRuns: Usage?
        var heldAtWindowClose: String?
        var bubbleIsOver: Bool
        var retrying: Bool
        var stopping: Bool
        var agentAway: Bool
        var agentIsFree: Bool
        var unconfirmed: [PostName]
        var sentEnd: End?
        var names: Names
        var deadlines: Deadlines
    }

    struct Tools: Decodable {
        struct Call: Decodable {
            var task: TaskID
            var name: String
            var label: String?
            var shownLabel: String?
            var outputChannel: Int?
            var percent: Int?
            var commandOpen: Bool
            var approval: ApprovalID?
            var held: Result?
            var finished: Bool
        }

        struct Result: Decodable {
            var call: ToolCallID
            var channel: Int
            var name: String?
            var status: Status
            var title: String?
            var result: JSON?
            var error: String?
        }

        var calls: [ToolCallID: Call]
        var open: [ToolCallID]
    }

    enum Status: String, Decodable { case completed, failed, cancelled }

    struct JSON: Decodable { var text: String }

    struct Approvals: Decodable {
        enum Decision: String, Decodable { case approve, approve_always, deny }
        enum Subject: String, Decodable { case exec, plugin, permission, dialog }
        enum State: Decodable { case open, decided(Decision), settled }

        struct Approval: Decodable {
            var card: Card
            var subject: Subject
            var expiresAt: Instant?
            var allowed: [Decision]?
            var state: State
            var detached: Bool
            var followUpBegan: Bool
            var owed: Bool
            var decidedByPerson: Bool
        }

        var approvals: [ApprovalID: Approval]
        var order: [ApprovalID]
        var detachedEarly: [ApprovalID]
    }

    struct Card: Decodable {
        enum Severity: String, Decodable { case low, medium, high, critical }
        var approval: ApprovalID
        var action: String
        var title: String
        var message: String
        var severity: Severity
        var command: String?
        var host: String?
        var slug: String?
        var toolCall: ToolCallID?
    }

    struct Usage: Decodable {
        var inputTokens: Int
        var outputTokens: Int
        var estimatedCostUSD: Double?
        var model: String?
        var provider: String?
    }
}
