import Simulator
import Testing
import WireTesting

/// Files that attachments link to.
@Suite struct AttachmentFilesTests {
    private func put(_ stage: Stage, _ query: String, _ body: String = "") throws -> String {
        let reply = try stage.wire().exchange(
            "POST", "/v1/simulator/files\(query)", headers: [stage.userHeader, "Content-Type: text/plain"],
            body: Array(body.utf8))
        #expect(reply.status == 200)
        return reply.text
    }

    private func path(_ attachment: String) throws -> String { "/v1/files/" + (try value(of: "key", in: attachment)) }

    @Test func anAttachmentCanBeSentAndItsFileDownloaded() throws {
        let stage = try Stage()
        let answer = try put(stage, "?name=a.txt", "hello")
        let start = try #require(answer.firstRange(of: #""result":"#)).upperBound
        let attachment = answer[start...].dropLast()
        let send = #"{"text":"look","attachments":[\#(attachment)]}"#
        #expect(try stage.user("POST", "/v1/me/sessions/\(stage.session)/send", send).status == 200)
        let bridge = BridgeSide(stage)
        try bridge.opened()
        #expect(try bridge.nextType() == "ready")
        #expect(try bridge.nextType() == "1 session.message")
        let update = try bridge.next()
        let url = try value(of: "url", in: update)
        #expect(update.contains(#""mime":"text/plain","name":"a.txt""#))
        #expect(url.hasPrefix(stage.simulator.baseURL))
        let file = try stage.wire().exchange("GET", String(url.dropFirst(stage.simulator.baseURL.count)))
        #expect(file.text == "hello")
        #expect(file.headers["content-type"] == "text/plain")
    }

    @Test func largeFilesAreMadeAndLinksMayHaveExpired() throws {
        let stage = try Stage()
        let large = try path(put(stage, "?size=26214401"))
        #expect(try stage.wire().exchange("GET", large).body.count == 26_214_401)
        let expired = try path(put(stage, "?status=403", "x"))
        #expect(try stage.wire().exchange("GET", expired).status == 403)
        #expect(try stage.wire().exchange("GET", "/v1/files/u/other").status == 404)
        #expect(try stage.user("POST", "/v1/simulator/files?size=1000000000").status == 400)
    }

    @Test func theOldestFilesMakeRoom() throws {
        let stage = try Stage()
        let first = try path(put(stage, "?size=60000000"))
        let others = try (0..<2).map { _ in try path(put(stage, "?size=60000000")) }
        #expect(try stage.wire().exchange("GET", first).status == 404)
        for other in others { #expect(try stage.wire().exchange("HEAD", other).status == 200) }
    }
}
