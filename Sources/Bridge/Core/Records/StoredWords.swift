import BridgeModel

// Words of records. Each is written out, so that a case may change its name.

enum StoredDecision: String, StoredForm {
    case approve = "approve"
    case approveAlways = "approve_always"
    case deny = "deny"

    init(_ value: ApprovalDecision) {
        self =
            switch value {
            case .approve: .approve
            case .approveAlways: .approveAlways
            case .deny: .deny
            }
    }

    var value: ApprovalDecision {
        switch self {
        case .approve: .approve
        case .approveAlways: .approveAlways
        case .deny: .deny
        }
    }
}

enum StoredRefusal: String, StoredForm {
    case unreadable = "unreadable"
    case cameOpen = "came_open"
    case cameSealed = "came_sealed"

    init(_ value: MessageRefusal) {
        self =
            switch value {
            case .unreadable: .unreadable
            case .cameOpen: .cameOpen
            case .cameSealed: .cameSealed
            }
    }

    var value: MessageRefusal {
        switch self {
        case .unreadable: .unreadable
        case .cameOpen: .cameOpen
        case .cameSealed: .cameSealed
        }
    }
}

enum StoredSubject: String, StoredForm {
    case exec = "exec"
    case plugin = "plugin"
    case permission = "permission"
    case dialog = "dialog"

    init(_ value: ApprovalRequest.Subject) {
        self =
            switch value {
            case .exec: .exec
            case .plugin: .plugin
            case .permission: .permission
            case .dialog: .dialog
            }
    }

    var value: ApprovalRequest.Subject {
        switch self {
        case .exec: .exec
        case .plugin: .plugin
        case .permission: .permission
        case .dialog: .dialog
        }
    }
}

enum StoredSeverity: String, StoredForm {
    case low = "low"
    case medium = "medium"
    case high = "high"
    case critical = "critical"

    init(_ value: ApprovalRequest.Severity) {
        self =
            switch value {
            case .low: .low
            case .medium: .medium
            case .high: .high
            case .critical: .critical
            }
    }

    var value: ApprovalRequest.Severity {
        switch self {
        case .low: .low
        case .medium: .medium
        case .high: .high
        case .critical: .critical
        }
    }
}

enum StoredToolStatus: String, StoredForm {
    case completed = "completed"
    case failed = "failed"
    case cancelled = "cancelled"

    init(_ value: ToolResult.Status) {
        self =
            switch value {
            case .completed: .completed
            case .failed: .failed
            case .cancelled: .cancelled
            }
    }

    var value: ToolResult.Status {
        switch self {
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }
}

enum StoredChannel: String, StoredForm {
    case call = "call"
    case command = "command"
    case item = "item"

    init(_ value: ToolChannel) {
        self =
            switch value {
            case .call: .call
            case .command: .command
            case .item: .item
            }
    }

    var value: ToolChannel {
        switch self {
        case .call: .call
        case .command: .command
        case .item: .item
        }
    }
}

enum StoredFinishReason: String, StoredForm {
    case stop = "stop"
    case length = "length"
    case contentFilter = "content_filter"
    case toolCall = "tool_call"

    init(_ value: EndOfTurn.FinishReason) {
        self =
            switch value {
            case .stop: .stop
            case .length: .length
            case .contentFilter: .contentFilter
            case .toolCall: .toolCall
            }
    }

    var value: EndOfTurn.FinishReason {
        switch self {
        case .stop: .stop
        case .length: .length
        case .contentFilter: .contentFilter
        case .toolCall: .toolCall
        }
    }
}

enum StoredOutcome: String, StoredForm {
    case answered = "answered"
    case aborted = "aborted"
    case failed = "failed"
    case lost = "lost"
    case neverSent = "never_sent"
    case gone = "gone"
    case anothers = "anothers"

    init(_ value: TurnOutcome) {
        self =
            switch value {
            case .answered: .answered
            case .aborted: .aborted
            case .failed: .failed
            case .lost: .lost
            case .neverSent: .neverSent
            case .gone: .gone
            case .anothers: .anothers
            }
    }

    var value: TurnOutcome {
        switch self {
        case .answered: .answered
        case .aborted: .aborted
        case .failed: .failed
        case .lost: .lost
        case .neverSent: .neverSent
        case .gone: .gone
        case .anothers: .anothers
        }
    }
}

struct StoredMissingFile: StoredForm {
    var name: String
    var problem: String

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case problem = "problem"
    }

    init(_ value: MissingFile) { (name, problem) = (value.name, value.problem) }

    var value: MissingFile { MissingFile(name, problem) }
}
