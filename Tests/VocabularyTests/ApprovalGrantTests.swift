import Testing
import Vocabulary

@Suite("What an agent is told of a decision")
struct ApprovalGrantTests {
    @Test(
        "a decision is never widened by what the agent takes",
        arguments: [
            (nil, ApprovalDecision.approveAlways, ApprovalDecision.approveAlways),
            ([.approve, .deny], .approveAlways, .approve), ([.approveAlways, .deny], .approve, .deny),
            ([.approve, .deny], .approve, .approve), ([.approve], .deny, .deny), ([.deny], .approveAlways, .deny),
        ] as [(Set<ApprovalDecision>?, ApprovalDecision, ApprovalDecision)])
    func allowed(allowed: Set<ApprovalDecision>?, said: ApprovalDecision, taken: ApprovalDecision) {
        #expect(
            ApprovalGrant.widest(said, .unscoped, abilities: GrantAbilities(), allowed: allowed).decision == taken)
    }

    @Test("an ask that takes no \u{201C}always\u{201D} grants no session either", arguments: ["session", nil])
    func onceAlone(scope: String?) {
        let grant = ApprovalGrant.widest(
            .approveAlways, DecisionScope(name: scope), abilities: GrantAbilities(session: true, permanent: false),
            allowed: [.approve, .deny])
        #expect(grant == ApprovalGrant(.approve, isNarrowed: true))
    }

    struct Case: CustomTestStringConvertible {
        var scope: DecisionScope
        var abilities: GrantAbilities
        var granted: ApprovalGrant

        var testDescription: String {
            "\(scope.name ?? "-") session \(abilities.session) always \(abilities.permanent)"
        }

        init(_ name: String?, session: Bool, permanent: Bool, _ granted: ApprovalGrant) {
            scope = DecisionScope(name: name, value: name.map { "\($0).example" })
            abilities = GrantAbilities(session: session, permanent: permanent)
            self.granted = granted
        }

        private static let always = ApprovalGrant(.approveAlways)
        private static let session = ApprovalGrant(.approveAlways, scope: .session)
        private static let sessionOnly = ApprovalGrant(.approveAlways, scope: .session, isNarrowed: true)
        private static let once = ApprovalGrant(.approve, isNarrowed: true)

        static let all: [Case] =
            [
                Case(nil, session: false, permanent: true, always),
                Case("all", session: false, permanent: true, always),
                Case("session", session: false, permanent: true, once),
                Case(nil, session: true, permanent: false, sessionOnly),
                Case("all", session: true, permanent: false, sessionOnly),
                Case("session", session: true, permanent: true, session),
                Case("session", session: true, permanent: false, session),
                Case(nil, session: false, permanent: false, once),
            ]
            + ["domain", "tool", "planet", "", "All", "session "].map {
                Case($0, session: true, permanent: true, once)
            }
    }

    @Test("the widest thing that is not wider than its scope; unknown words are narrow", arguments: Case.all)
    func scoped(_ known: Case) {
        #expect(ApprovalGrant.widest(.approveAlways, known.scope, abilities: known.abilities) == known.granted)
        // A single yes is granted once, and a no stays a no.
        #expect(ApprovalGrant.widest(.approve, known.scope, abilities: known.abilities) == ApprovalGrant(.approve))
        #expect(ApprovalGrant.widest(.deny, known.scope, abilities: known.abilities) == ApprovalGrant(.deny))
    }
}
