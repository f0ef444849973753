import Worlds

/// Scripts of a double for the contract's prompts (`ScriptedRuns`).
enum ContractScripts {
    static let all: [String: GatewayScript] = [
        "Say.": GatewayScript((100, .says("One. ")), (200, .says("Two. ")), (200, .says("Three.")), (100, .finishes)),
        "Tool.": GatewayScript(
            (50, .says("I look. ")), (100, .callsTool(id: "t1", command: "df")),
            (300, .toolReturns(id: "t1", output: "61%")), (100, .says("It is full.")), (50, .finishes)),
        "Ask.": GatewayScript(
            (50, .says("May I? ")), (20, .callsTool(id: "t1", command: "reboot")),
            (20, .asksApproval(id: "a1", command: "reboot")), (50, .toolReturns(id: "t1", output: "done")),
            (50, .says("Done.")), (50, .finishes)),
        "Long.": GatewayScript((50, .says("Begun. ")), (3_600_000, .finishes)),
    ]

    /// A message ends before its tools run, and a blank line joins the messages of a run.
    static func text(of prompt: String) -> String? {
        switch prompt {
        case "Tool.": "I look. \n\nIt is full."
        case "Ask.": "May I? \n\nDone."
        default: ScriptedRuns.texts[prompt]
        }
    }
}
