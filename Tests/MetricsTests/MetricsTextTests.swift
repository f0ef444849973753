import Metrics
import Testing

@Suite("The text that Prometheus reads")
struct MetricsTextTests {
    @Test("a metric is its help, its type and a line for each sample") func whole() {
        var page = MetricsText()
        page.add(.linkUp, [MetricSample(["home", "relay"], 1), MetricSample(["home", "agent"], 0)])
        page.add(.laneOldest, [MetricSample(["home"], 1.5)])
        #expect(
            page.text == """
                # HELP sophon_bridge_link_up 1 while the link to that side is up.
                # TYPE sophon_bridge_link_up gauge
                sophon_bridge_link_up{connection="home",side="relay"} 1
                sophon_bridge_link_up{connection="home",side="agent"} 0
                # HELP sophon_bridge_lane_oldest_seconds \(Metric.laneOldest.help)
                # TYPE sophon_bridge_lane_oldest_seconds gauge
                sophon_bridge_lane_oldest_seconds{connection="home"} 1.5

                """)
    }

    @Test("a value without labels has no braces") func bare() {
        var page = MetricsText()
        page.add(.heldBytes, 12)
        #expect(page.text.hasSuffix("\nsophon_bridge_held_bytes 12\n"))
    }

    @Test(
        "a label's value is escaped",
        arguments: [
            ("back\\slash", #"back\\slash"#), ("two\nlines", #"two\nlines"#), ("a \"name\"", #"a \"name\""#),
            ("carriage\r\nreturn", "carriage\r\\nreturn"), ("ünïcode", "ünïcode"), ("", ""),
        ])
    func escaping(value: String, escaped: String) {
        var page = MetricsText()
        page.add(.buildInfo, [MetricSample([value], 1)])
        #expect(page.text.hasSuffix("sophon_bridge_build_info{version=\"\(escaped)\"} 1\n"))
    }

    @Test(
        "a number is written as Go reads it",
        arguments: [
            (0.0, "0"), (-3, "-3"), (4_294_967_296, "4294967296"), (0.25, "0.25"), (1e-05, "1e-05"), (1e300, "1e+300"),
            (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
        ])
    func numbers(value: Double, text: String) {
        var page = MetricsText()
        page.add(.heldBytes, value)
        #expect(page.text.hasSuffix("sophon_bridge_held_bytes \(text)\n"))
    }

    @Test("a histogram counts up to each bound and ends with all") func histogram() {
        var histogram = Histogram(bounds: [0.01, 0.1, 1])
        for milliseconds in [0, 10, 11, 100, 5_000, -7] { histogram.observe(.milliseconds(milliseconds)) }
        var page = MetricsText()
        page.add(.placeholder, histogram)
        let lines = page.text.split(separator: "\n").dropFirst(2)
        let name = "sophon_bridge_placeholder_seconds"
        #expect(
            Array(lines) == [
                "\(name)_bucket{le=\"0.01\"} 3", "\(name)_bucket{le=\"0.1\"} 5", "\(name)_bucket{le=\"1\"} 5",
                "\(name)_bucket{le=\"+Inf\"} 6", "\(name)_sum 5.121", "\(name)_count 6",
            ])
    }

    @Test("every combination of labels is there at zero") func zeros() {
        let counts = LabelledCounts([["a", "b"], ["x", "y"]])
        #expect(
            counts.samples == [
                MetricSample(["a", "x"], 0), MetricSample(["a", "y"], 0), MetricSample(["b", "x"], 0),
                MetricSample(["b", "y"], 0),
            ])
    }

    @Test("a value outside its column counts as other, or not at all") func others() {
        var counts = LabelledCounts([["a", "b"], ["x", "other"]])
        counts.count("b", "x")
        counts.count("b", "x")
        counts.count("a", "unheard of")
        counts.count("unheard of", "x")
        #expect(counts.samples.map(\.value) == [0, 1, 2, 0])
    }
}
