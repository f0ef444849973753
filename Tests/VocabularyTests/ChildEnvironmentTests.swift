import Testing
import Vocabulary

@Suite struct ChildEnvironmentTests {
    private let own = [
        "HOME=/home/ada", "PATH=/usr/bin", "SOPHON_RELAY_TOKEN=t", "NOTIFY_SOCKET=/run/n", "LISTEN_FDS=1",
        "LISTEN_PID=7", "CREDENTIALS_DIRECTORY=/run/c", "OPPI_TOKEN=o", "OPPI_URL=u", "OPPI=kept", "EMPTY=",
    ]

    @Test func dropsWhatIsForTheBridgeAlone() {
        #expect(
            ChildEnvironment().entries(of: own) == [
                "EMPTY=", "HOME=/home/ada", "OPPI=kept", "OPPI_TOKEN=o", "OPPI_URL=u", "PATH=/usr/bin",
            ])
    }

    @Test(arguments: [
        (["OPPI_TOKEN"], ["OPPI=kept", "OPPI_URL=u"]), (["OPPI_*"], ["OPPI=kept"]), (["OPPI*"], []),
        (["oppi*", "OPP"], ["OPPI=kept", "OPPI_TOKEN=o", "OPPI_URL=u"]), (["*"], []),
    ])
    func dropsByNameAndByBeginning(dropping: [String], left: [String]) {
        let entries = ChildEnvironment(dropping: dropping).entries(of: own)
        #expect(entries.filter { $0.hasPrefix("OPPI") } == left)
    }

    @Test func whatIsKeptIsNoMoreThanAPatternsException() {
        func left(_ dropping: [String]) -> [String] {
            let environment = ChildEnvironment(dropping: dropping, keeping: ["OPPI_TOKEN", "SOPHON_RELAY_TOKEN"])
            return environment.entries(of: own).filter { $0.hasPrefix("OPPI_") || $0.hasPrefix("SOPHON") }
        }
        #expect(left(["OPPI_*"]) == ["OPPI_TOKEN=o"])
        #expect(left(["OPPI_*", "OPPI_TOKEN"]) == [])
    }

    @Test func whatIsAddedGoesBeforeAllElse() {
        let environment = ChildEnvironment(
            dropping: ["PATH"], adding: ["PATH": "/opt", "SOPHON_X": "wanted", "A": "b=c"])
        let entries = environment.entries(of: own)
        #expect(
            entries.filter { !$0.hasPrefix("OPPI") } == [
                "A=b=c", "EMPTY=", "HOME=/home/ada", "PATH=/opt", "SOPHON_X=wanted",
            ])
    }

    @Test func theFirstOfTwoCountsAndWhatIsNoVariableIsLeftOut() {
        #expect(ChildEnvironment().entries(of: ["A=1", "A=2", "nothing", "=x", "B=="]) == ["A=1", "B=="])
    }
}
