import Simulator
import Testing
import WireTesting

/// The page that behaves like the phone, fetched as a browser does.
@Suite struct PhonePageTests {
    private func get(_ stage: Stage, _ path: String, _ headers: [String] = []) throws -> Wire.Reply {
        try stage.wire().exchange("GET", path, headers: headers)
    }

    @Test func theRootLeadsToThePageAndThePageNeedsNoToken() throws {
        let stage = try Stage()
        let root = try get(stage, "/")
        #expect(root.status == 302)
        #expect(root.headers["location"] == "/phone/")
        let page = try get(stage, "/phone/")
        #expect(page.status == 200)
        #expect(page.headers["content-type"] == "text/html; charset=utf-8")
        #expect(page.text.hasPrefix("<!doctype html>"))
    }

    @Test func aBrowserMayLoadNothingFromElsewhereAndRunNothingInline() throws {
        let stage = try Stage()
        for path in ["/phone/", "/phone/main.js", "/phone/phone.css"] {
            let headers = try get(stage, path).headers
            let policy = try #require(headers["content-security-policy"])
            for rule in [
                "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'",
                "form-action 'none'", "frame-ancestors 'none'",
            ] {
                #expect(policy.contains(rule))
            }
            #expect(headers["x-content-type-options"] == "nosniff")
            #expect(headers["referrer-policy"] == "no-referrer")
        }
    }

    @Test func everythingThatThePageNamesIsThere() throws {
        let stage = try Stage()
        let page = try get(stage, "/phone/").text
        let named = page.matches(of: /(?:src|href)="([^"#]+)"/).map { String($0.output.1) }
        #expect(named.contains("main.js"))
        var open = named
        var seen: Set<String> = []
        while let name = open.popLast() {
            guard seen.insert(name).inserted else { continue }
            let file = try get(stage, "/phone/\(name)")
            #expect(file.status == 200, "\(name)")
            if name.hasSuffix(".js") {
                #expect(file.headers["content-type"] == "text/javascript; charset=utf-8")
                open += file.text.matches(of: /from "\.\/([^"]+)"/).map { String($0.output.1) }
            }
        }
        #expect(seen.count > 15)
    }

    @Test func aFileIsAskedForAnewAndSentAgainOnlyWhenItDiffers() throws {
        let stage = try Stage()
        let first = try get(stage, "/phone/main.js")
        let tag = try #require(first.headers["etag"])
        #expect(first.headers["cache-control"] == "no-cache")
        let second = try get(stage, "/phone/main.js", ["If-None-Match: \(tag)"])
        #expect(second.status == 304)
        #expect(second.body.isEmpty)
        #expect(try get(stage, "/phone/main.js", ["If-None-Match: \"another\""]).status == 200)
        #expect(try get(stage, "/phone/state.js").headers["etag"] != tag)
    }

    @Test func whatIsNotThereIsNotFoundAndNothingIsWritten() throws {
        let stage = try Stage()
        #expect(try get(stage, "/phone/gone.js").status == 404)
        #expect(try get(stage, "/phone/../Package.swift").status == 404)
        #expect(try get(stage, "/phone/page/main.js").status == 404)
        let written = try stage.wire().exchange("POST", "/phone/", body: Array("x".utf8))
        #expect(written.status == 405)
        #expect(written.headers["allow"] == "GET, HEAD")
        #expect(try get(stage, "/phone/", ["Origin: http://elsewhere.example"]).status == 403)
    }

    @Test func thePagesAddressHidesTheTokenFromServers() throws {
        let stage = try Stage()
        #expect(stage.simulator.phoneURL == "\(stage.simulator.baseURL)/phone/#token=\(stage.simulator.userToken)")
    }
}
