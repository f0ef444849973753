/// Known names of the app-server's protocol (codex.md#notifications); any other is counted and ignored.
enum CodexNames {
    static let notifications: Set = [
        "account/login/completed", "account/rateLimits/updated", "account/updated", "app/list/updated", "configWarning",
        "deprecationNotice", "error", "guardianWarning", "hook/completed", "hook/started", "item/agentMessage/delta",
        "item/autoApprovalReview/completed", "item/autoApprovalReview/started",
        "item/commandExecution/outputDelta", "item/commandExecution/terminalInteraction", "item/completed",
        "item/fileChange/patchUpdated", "item/mcpToolCall/progress", "item/plan/delta",
        "item/reasoning/summaryPartAdded", "item/reasoning/summaryTextDelta", "item/reasoning/textDelta",
        "item/started", "mcpServer/oauthLogin/completed", "mcpServer/startupStatus/updated", "model/rerouted",
        "model/safetyBuffering/updated", "model/verification", "remoteControl/status/changed",
        "serverRequest/resolved", "skills/changed", "thread/archived", "thread/closed", "thread/compacted",
        "thread/goal/cleared", "thread/goal/updated", "thread/name/updated", "thread/readState/changed",
        "thread/settings/updated", "thread/started", "thread/status/changed", "thread/tokenUsage/updated",
        "thread/unarchived", "turn/completed", "turn/diff/updated", "turn/plan/updated", "turn/started", "warning",
    ]

    /// Requests of either side, by which the decoder recognises a recording.
    static let requests: Set = [
        "account/read", "initialize", "model/list", "thread/archive", "thread/backgroundTerminals/clean",
        "thread/backgroundTerminals/list", "thread/backgroundTerminals/terminate", "thread/fork", "thread/goal/get",
        "thread/goal/set", "thread/items/list", "thread/list", "thread/loaded/list", "thread/read", "thread/resume",
        "thread/start", "thread/turns/list", "thread/unarchive", "turn/interrupt", "turn/start", "turn/steer",
    ]

    /// Notifications that the server shall not send: frequent, and without anything to show.
    static let optedOut = [
        "account/rateLimits/updated", "turn/diff/updated", "item/reasoning/textDelta", "thread/settings/updated",
        "remoteControl/status/changed", "app/list/updated", "skills/changed",
    ]

    static func isKnown(_ method: String) -> Bool {
        notifications.contains(method) || requests.contains(method) || CodexAsk.methods.contains(method)
    }
}
