import Testing
import Vocabulary

@Suite("The name of a run that follows an approval")
struct FollowUpRunTests {
    @Test(
        "it is the approval's, alone or with more after a colon",
        arguments: [
            ("exec-approval-followup:a1", true), ("exec-approval-followup:a1:nonce:x", true),
            ("exec-approval-followup:a1:", true), ("exec-approval-followup:a12", false),
            ("exec-approval-followup:a", false), ("exec-approval-followup:", false), ("a1", false), ("", false),
            ("Exec-approval-followup:a1", false), (" exec-approval-followup:a1", false),
        ])
    func names(_ name: String, _ follows: Bool) {
        #expect(RunID(name).follows(ApprovalID("a1")) == follows)
        #expect(RunID(name).isFollowUp == name.hasPrefix("exec-"))
    }

    @Test("an approval's own name may hold colons")
    func colons() {
        #expect(RunID("exec-approval-followup:a:b:x").follows(ApprovalID("a:b")))
        #expect(!RunID("exec-approval-followup:a:bx").follows(ApprovalID("a:b")))
    }
}
