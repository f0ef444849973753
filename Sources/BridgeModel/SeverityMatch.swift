/// A rule of the configuration: text as it stands, no pattern, in the command or the compact input of an ask.
package struct SeverityMatch: Hashable, Sendable {
    package var text: String
    package var severity: ApprovalRequest.Severity

    package init(_ text: String, _ severity: ApprovalRequest.Severity) {
        self.text = text
        self.severity = severity
    }
}
