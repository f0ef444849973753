import Recording
import Testing

@Suite("Recordings of a connection with sealed chats")
struct WordCoverTests {
    private let formatter = RecordingFormatter(knownSecrets: ["example-gateway-token"])

    private func frame(_ content: EntryToRecord.Content) -> String {
        let line = String(
            decoding: formatter.line(
                for: EntryToRecord(
                    milliseconds: 1, link: .agent, connection: "home", stream: 1, direction: .incoming,
                    content: content, coversWords: true)), as: UTF8.self)
        let head = #"{"at_ms":1,"link":"agent","connection":"home","stream":1,"dir":"in","frame":"#
        #expect(line.hasPrefix(head))
        return String(line.dropFirst(head.count).dropLast(2))
    }

    private static let frames: [(String, String)] = [
        (
            #"{"type":"event","event":"chat","payload":{"runId":"r1","seq":4,"message":{"content":[{"type":"text","text":"rosebud"}]}}}"#,
            #"{"type":"event","event":"chat","payload":{"runId":"r1","seq":4,"message":{"content":[{"type":"text","text":"[covered]"}]}}}"#
        ),
        (
            #"{"data":{"phase":"start","toolCallId":"c1","args":{"rosebud":1,"b":["rosebud",2,{"type":"rosebud"}],"c":true}}}"#,
            #"{"data":{"phase":"start","toolCallId":"c1","args":{"[covered]":"[covered]","[covered]":["[covered]","[covered]",{"[covered]":"[covered]"}],"[covered]":true}}}"#
        ),
        (#"{"scopes":["operator.read"],"names":["rosebud"]}"#, #"{"scopes":["operator.read"],"names":["[covered]"]}"#),
        (
            #"{"id":4,"method":"x/request","params":{"status":"rosebud is ill","mode":"form","_meta":{"tool_params":{"code":"rosebud","rosebud":4711}},"requestedSchema":{"type":"object","properties":{"rosebud":{}}}}}"#,
            #"{"id":4,"method":"x/request","params":{"status":"[covered]","mode":"form","_meta":{"[covered]":{"[covered]":"[covered]","[covered]":"[covered]"}},"requestedSchema":{"[covered]":"[covered]","[covered]":{"[covered]":{}}}}}"#
        ),
        (#"{"the rosebud":"x","type":{"a":"rosebud"}}"#, #"{"[covered]":"[covered]","type":{"a":"[covered]"}}"#),
        (#"{"t\u0079pe":"rosebud","a":"\"rosebud"}"#, #"{"[covered]":"[covered]","a":"[covered]"}"#),
        (
            #"{"token":"example-gateway-token","ok":true,"result":"rosebud"}"#,
            #"{"token":"[covered]","ok":true,"result":"[covered]"}"#
        ),
    ]

    @Test("keep what the frames are, and nothing that is said in them", arguments: frames)
    func covered(given: String, expected: String) { #expect(frame(.frame(Array(given.utf8))) == expected) }

    @Test("keep the length of what is no JSON")
    func raw() {
        #expect(frame(.frame(Array("rosebud".utf8))) == #"{"_raw":"[7 bytes covered]"}"#)
        #expect(frame(.frame(Array(#"["rosebud"]"#.utf8))) == #"{"_raw":"[11 bytes covered]"}"#)
    }

    @Test("say nothing of requests, their answers, and programs")
    func others() {
        let contents: [EntryToRecord.Content] = [
            .httpRequest(method: "POST", path: "/rosebud", body: Array("rosebud".utf8)),
            .httpResponse(status: 200, body: Array(#"{"rosebud":"rosebud"}"#.utf8)),
            .processStarted(arguments: ["pi", "rosebud"]), .socketClosed(code: 1000, reason: "rosebud"),
        ]
        for content in contents {
            let covered = frame(content)
            #expect(!covered.replacing(#""rosebud":"[covered]""#, with: "").contains("rosebud"), "\(covered)")
        }
        #expect(frame(.processEnded(code: 1, signal: "TERM")) == #"{"_proc":"exit","code":1,"signal":"TERM"}"#)
    }

    @Test("stay JSON")
    func nested() {
        let nested = #"{"a":{"b":[1,-2.5e3,null,{"c":"\\"}]},"text":"x"}"#
        #expect(
            frame(.frame(Array(nested.utf8))) == #"{"a":{"b":[1,-2.5e3,null,{"c":"[covered]"}]},"text":"[covered]"}"#)
    }
}
