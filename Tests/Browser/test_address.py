"""The page's address: its forms, and when each applies."""

from harness import Bridge, BrowserTest, until


class TheAddress(BrowserTest):
    def setUp(self):
        super().setUp()
        self.relay = self.simulator()

    def go(self, fragment):
        """Changes the address of an open page as a person would, without a load."""
        self.page.run("window.isOld = true; location.hash = arguments[0]", fragment)

    def is_loaded_anew(self):
        until(lambda: self.page.run("return !window.isOld && document.readyState === 'complete'"), "the page is loaded anew")

    def test_the_printed_address_opens_a_page_that_stands_at_the_door(self):
        self.page.browser.get(self.relay.base + "/phone/")
        self.page.shown("#door-token")
        self.go(self.relay.phone_url.split("#")[1])
        self.is_loaded_anew()
        self.page.says("#bridge", "No bridge has connected yet")
        self.assertNotIn("usr_", self.page.browser.current_url)

    def test_an_address_that_is_no_encoding_of_anything_leads_to_the_list_and_stops_nothing(self):
        run = Bridge.ask(self.relay, "Hello")
        self.page.open(self.relay.phone_url)
        self.page.says("#chats", "Hello")
        self.go("#/chat/%")
        until(lambda: self.page.run("return document.documentElement.dataset.view") == "list", "the list is shown")
        self.page.reload()
        self.page.says("#chats", "Hello")
        self.page.open_chat(run.session)
        self.page.says("#messages", "Hello")
        self.go("#token=%")
        self.is_loaded_anew()
        self.page.says("#chats", "Hello")
        self.assertNotIn("token", self.page.browser.current_url)

    def test_a_token_given_to_an_open_page_takes_the_place_of_the_one_before_and_leaves_the_address(self):
        run = Bridge.ask(self.relay, "Hello")
        self.page.open(self.relay.phone_url)
        self.page.open_chat(run.session)
        self.go("token=usr_wrong")
        self.is_loaded_anew()
        self.page.says("#door-text", "token")
        self.assertNotIn("usr_", self.page.browser.current_url)
        self.go(self.relay.phone_url.split("#")[1])
        self.is_loaded_anew()
        self.page.says("#chats", "Hello")
        self.assertNotIn("usr_", self.page.browser.current_url)
        self.page.browser.back()
        until(lambda: self.page.run("return location.hash").startswith("#/chat/"), "the entry before is the chat")

    test_a_token_given_to_an_open_page_takes_the_place_of_the_one_before_and_leaves_the_address.complaints = ("401",)

    def test_a_page_at_the_door_keeps_the_token_that_another_tab_was_given(self):
        Bridge.ask(self.relay, "Hello")
        self.page.browser.get(self.relay.base + "/phone/#token=usr_wrong")
        self.page.shown("#door-token")
        self.page.says("#door-text", "token")
        token = self.relay.phone_url.split("#token=")[1]
        drawn = self.page.browser.execute_async_script("""const [token, done] = arguments;
            localStorage.setItem("phone.token", JSON.stringify(token));
            dispatchEvent(new Event("themechange"));
            setTimeout(() => requestAnimationFrame(() => done(localStorage.getItem("phone.token"))), 300);""", token)
        self.assertEqual(drawn, f'"{token}"')
        self.page.reload()
        self.page.says("#chats", "Hello")

    test_a_page_at_the_door_keeps_the_token_that_another_tab_was_given.complaints = ("401",)
