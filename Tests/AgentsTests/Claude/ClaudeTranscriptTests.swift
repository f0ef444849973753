import Testing
import Vocabulary

@testable import Claude

@Suite("The transcript of a session of Claude Code")
struct ClaudeTranscriptTests {
    private static func row(_ uuid: String, _ parent: String?, _ type: String, _ message: String, _ more: String = "")
        -> String
    {
        let above = parent.map { "\"\($0)\"" } ?? "null"
        return
            #"{"parentUuid":\#(above),"isSidechain":false,"uuid":"\#(uuid)","type":"\#(type)","message":\#(message)\#(more)}"#
    }
    private static func asked(_ uuid: String, below parent: String? = nil, _ more: String = "") -> String {
        row(uuid, parent, "user", #"{"role":"user","content":"Dig."}"#, #","promptSource":"sdk"\#(more)"#)
    }
    private static func said(
        _ uuid: String, below parent: String, _ text: String, stop: String? = nil, message: String? = nil,
        _ more: String = ""
    ) -> String {
        let reason = stop.map { "\"\($0)\"" } ?? "null"
        let block = #"{"type":"text","text":"\#(text)"}"#
        return row(
            uuid, parent, "assistant",
            #"{"id":"\#(message ?? uuid)","model":"m","content":[\#(block)],"stop_reason":\#(reason)}"#, more)
    }
    private static func called(_ uuid: String, below parent: String, message: String? = nil) -> String {
        let block = #"{"type":"tool_use","id":"t-\#(uuid)","name":"Bash","input":{"command":"rm x"}}"#
        return row(
            uuid, parent, "assistant",
            #"{"id":"\#(message ?? uuid)","model":"m","content":[\#(block)],"stop_reason":"tool_use"}"#)
    }
    private static func returned(_ uuid: String, below parent: String, _ text: String = "ok") -> String {
        row(
            uuid, parent, "user",
            #"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t-\#(parent)","content":"\#(text)"}]}"#)
    }
    private static func marked(_ uuid: String, below parent: String, _ text: String, _ more: String = "") -> String {
        row(uuid, parent, "user", #"{"role":"user","content":[{"type":"text","text":"\#(text)"}]}"#, more)
    }
    private static func failed(_ uuid: String, below parent: String) -> String {
        said(uuid, below: parent, "API Error: 400", stop: "stop_sequence", #","isApiErrorMessage":true"#)
            .replacing(#""model":"m""#, with: #""model":"<synthetic>""#)
    }

    private static func transcript(_ rows: [String], tail: String = "") -> ClaudeTranscript {
        ClaudeTranscript(Array((rows.map { $0 + "\n" }.joined() + tail).utf8))
    }

    @Test(
        "what became of a prompt, by all that can be below it",
        arguments: [
            ([], ClaudeFate.neverTaken), ([asked("V")], .neverTaken),
            ([asked("U")], .unbegun),
            ([asked("U"), said("a", below: "U", "Yes.", stop: "end_turn")], .ended(RunEnd(text: "Yes."))),
            ([asked("U"), said("a", below: "U", "Yes.", stop: "stop_sequence")], .ended(RunEnd(text: "Yes."))),
            (
                [asked("U"), said("a", below: "U", "Ye", stop: "max_tokens")],
                .ended(RunEnd(text: "Ye", reason: .length))
            ),
            (
                [asked("U"), said("a", below: "U", "No.", stop: "refusal")],
                .ended(RunEnd(text: "No.", reason: .contentFilter))
            ),
            (
                [
                    asked("U"), said("a", below: "U", "So ", stop: "tool_use", message: "m"),
                    said("b", below: "a", "far.", stop: "tool_use", message: "m"),
                    called("c", below: "b", message: "m"),
                ], .unfinished(text: "So far.")
            ),
            (
                [
                    asked("U"), called("c", below: "U"), returned("r", below: "c"),
                    said("a", below: "r", "Done.", stop: "end_turn"),
                ],
                .ended(RunEnd(text: "Done."))
            ),
            (
                [
                    asked("U"),
                    #"{"parentUuid":null,"logicalParentUuid":"U","isSidechain":false,"uuid":"b","type":"system","subtype":"compact_boundary"}"#,
                    #"{"parentUuid":"b","isSidechain":false,"uuid":"k","type":"user","isCompactSummary":true,"message":{"role":"user","content":"Summary."}}"#,
                    said("a", below: "k", "Done.", stop: "end_turn"),
                ], .ended(RunEnd(text: "Done."))
            ),
            (
                [
                    asked("U"),
                    #"{"parentUuid":"U","isSidechain":false,"uuid":"o","type":"user","message":{"role":"user","content":"<local-command-stdout>Compacted</local-command-stdout>"}}"#,
                ], .ended(RunEnd())
            ),
            ([asked("U"), called("c", below: "U"), returned("r", below: "c")], .unfinished(text: nil)),
            ([asked("U"), said("a", below: "U", "Half")], .unfinished(text: "Half")),
            (
                [asked("U"), said("a", below: "U", "Half"), marked("i", below: "a", "[Request interrupted by user]")],
                .stopped(text: "Half")
            ),
            (
                [
                    asked("U"), called("c", below: "U"),
                    marked("i", below: "c", "[Request interrupted by user for tool use]"),
                ],
                .stopped(text: nil)
            ),
            ([asked("U"), failed("f", below: "U")], .failed(message: "API Error: 400", text: nil)),
            (
                [asked("U"), said("a", below: "U", "First."), failed("f", below: "a")],
                .failed(message: "API Error: 400", text: "First.")
            ),
            // The stream broke off behind a block of text, and continued.
            (
                [
                    asked("U"), said("a", below: "U", "Onions ", stop: "end_turn"),
                    marked("n", below: "a", "Your response above was cut off mid-stream.", #","isMeta":true"#),
                    said("b", below: "n", "and leeks.", stop: "end_turn"),
                ], .ended(RunEnd(text: "Onions and leeks."))
            ),
            // A resumed session adds a row that is no answer.
            (
                [
                    asked("U"),
                    said("s", below: "U", "No response requested.", stop: "end_turn")
                        .replacing(#""model":"m""#, with: #""model":"<synthetic>""#),
                    asked("V", below: "s"), said("a", below: "V", "Later.", stop: "end_turn"),
                ], .unbegun
            ),
            // Rows below a later prompt, or a schedule's, belong to another answer.
            (
                [
                    asked("U"), said("a", below: "U", "One.", stop: "end_turn"),
                    marked(
                        "w", below: "a", "Water",
                        #","isMeta":true,"promptSource":"system","wakeupSource":"x","turnOrigin":"scheduled""#),
                    called("c", below: "w"),
                ], .ended(RunEnd(text: "One."))
            ),
            // An orphan's last words stand beside the rows of its successor.
            (
                [
                    asked("U"), called("c", below: "U"), asked("V", below: "c"),
                    said("b", below: "V", "Other.", stop: "end_turn"), returned("r", below: "c"),
                    said("a", below: "r", "Mine.", stop: "end_turn"),
                ], .ended(RunEnd(text: "Mine."))
            ),
            // Helpers have rows of their own.
            (
                [
                    asked("U"), said("a", below: "U", "Yes.", stop: "end_turn"),
                    said("h", below: "a", "Helper", stop: "tool_use").replacing(
                        #""isSidechain":false"#, with: #""isSidechain":true"#),
                ], .ended(RunEnd(text: "Yes."))
            ),
            // A merged prompt, and one folded into a running turn.
            (
                [
                    asked("P", below: nil, #","mergedSendUuids":["P","U"]"#),
                    said("a", below: "P", "Both.", stop: "end_turn"),
                ],
                .ended(RunEnd(text: "Both."))
            ),
            (
                [
                    asked("P"), called("c", below: "P"), returned("r", below: "c"),
                    row("q", "r", "attachment", "null", #","attachment":{"type":"queued_command","source_uuid":"U"}"#),
                    said("a", below: "q", "Also.", stop: "end_turn"),
                ], .ended(RunEnd(text: "Also."))
            ),
        ])
    func fates(rows: [String], fate: ClaudeFate) {
        #expect(Self.transcript(rows).fate(of: "U") == fate)
        // Neither a cut last row nor a line that is no row changes the fate.
        let noise = [#"{"type":"queue-operation"}"#, "{", #"{"uuid":7}"#, ""]
        #expect(
            Self.transcript(noise + rows, tail: #"{"parentUuid":"U","uuid":"z","type":"assis"#).fate(of: "U") == fate)
    }

    @Test("calls that were refused while no bridge was there are named, those since our last prompt")
    func refusals() {
        let first = "Tool permission request failed: AbortError: Tool permission stream closed before response received"
        let second = "Tool permission request failed: AbortError: Stream closed"
        let rows = [
            Self.asked("U"), Self.called("c", below: "U"), Self.returned("r", below: "c", first),
            Self.called("d", below: "r"), Self.returned("s", below: "d", second), Self.called("e", below: "s"),
            Self.returned("t", below: "e", "Tool permission request failed: else"),
        ]
        #expect(Self.transcript(rows).refusedWhileAway == ["Bash command=rm x", "Bash command=rm x"])
        let clock = Self.marked("w", below: "t", "Water", #","isMeta":true,"wakeupSource":"x""#)
        #expect(Self.transcript(rows + [clock]).refusedWhileAway.count == 2)
        #expect(Self.transcript(rows + [Self.asked("V", below: "t")]).refusedWhileAway == [])
        #expect(Self.transcript([]).refusedWhileAway == [])
    }
}
