import Testing
import Vocabulary

@Suite("The name somebody may have meant")
struct NearestNameTests {
    @Test("a slip of the finger finds its name", arguments: ["dmeo", "dem", "demoo", "dymo"])
    func slips(name: String) {
        #expect(NearestName.to(name, among: ["replay", "demo", "simulate"]) == "demo")
    }

    @Test(
        "a name that is far from all others suggests none",
        arguments: ["xyzzy", "", String(repeating: "demo", count: 10_000)])
    func noSuggestion(name: String) {
        #expect(NearestName.to(name, among: ["demo", "replay"]) == nil)
    }
}
