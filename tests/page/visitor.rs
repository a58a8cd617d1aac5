//! A simulated visitor of the page: looks at the board, clicks, drags and types.

use std::time::Duration;

use fantoccini::actions::{InputSource, MouseActions, PointerAction};
use fantoccini::key::Key;
use fantoccini::{Client, Locator};
use serde_json::{Value, json};

/// Runs in the page: resolves with the expression's value once that is truthy. What it looks at
/// may not be there yet.
const UNTIL: &str = r"
    const [expression, done] = arguments;
    const evaluate = new Function(`return (${expression})`);
    const attempt = () => {
        try {
            return evaluate();
        } catch (error) {
            if (error instanceof TypeError) return undefined;
            throw error;
        }
    };
    const look = () => {
        const value = attempt();
        if (value) done(value);
        else setTimeout(look, 15);
    };
    look();
";

/// Runs in the page: counts the blasts that are shown from now on.
const COUNT_BLASTS: &str = r"
    window.blastsSeen = 0;
    const seen = (records) => {
        for (const { addedNodes } of records) {
            for (const node of addedNodes) window.blastsSeen += node.matches?.('.blast') ? 1 : 0;
        }
    };
    new MutationObserver(seen).observe(document.body, { childList: true, subtree: true });
";

const OUR_TURN: &str = "document.querySelector('#board .movable')";
pub(crate) const OVER: &str = "document.querySelector('.verdict')";

/// How often a piece is put back to look for one that can take something.
const LOOKS: usize = 4;

#[derive(Debug)]
pub(crate) struct Visitor<'a> {
    pub(crate) client: &'a Client,
}

impl Visitor<'_> {
    pub(crate) async fn look(&self, script: &str) -> Value {
        let script = format!("return ({script});");
        self.client.execute(&script, Vec::new()).await.unwrap()
    }

    /// Waits in the page; the driver's script timeout is the guard.
    pub(crate) async fn until(&self, condition: &str) {
        self.wait_for(&format!("Boolean({condition})")).await;
    }

    /// The first truthy value of a JavaScript expression that comes as JSON. What may be gone at
    /// the next look is read by this, not by `until` and then `look`.
    pub(crate) async fn wait_for(&self, expression: &str) -> Value {
        let arrived = self.client.execute_async(UNTIL, vec![json!(expression)]);
        match arrived.await {
            Ok(value) => value,
            Err(error) => {
                let shown = self.look("document.body.innerText").await;
                panic!("waited in vain for {expression}: {error}; the page shows {shown}");
            }
        }
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.click_on(Locator::Css(selector)).await;
    }

    /// Waits for the element and clicks it; if the page redraws in between, the one in its place.
    pub(crate) async fn click_on(&self, locator: Locator<'_>) {
        loop {
            let found = self.client.wait().for_element(locator).await;
            let found = found.unwrap_or_else(|error| panic!("nothing is {locator:?}: {error}"));
            match found.click().await {
                Ok(()) => return,
                Err(error) if error.is_stale_element_reference() => {}
                Err(error) => panic!("{locator:?} cannot be clicked: {error}"),
            }
        }
    }

    pub(crate) async fn visit(&self, url: &str) {
        self.client.goto(url).await.unwrap();
        self.until("document.querySelector('#start[open]')").await;
        self.count_blasts().await;
    }

    /// From now on `window.blastsSeen` counts the blasts of every board on the page.
    pub(crate) async fn count_blasts(&self) {
        let counting = self.client.execute(COUNT_BLASTS, Vec::new()).await;
        counting.expect("the page runs scripts");
    }

    /// Chooses a side in the dialog, starts a game, and waits until it is our turn.
    pub(crate) async fn begin(&self, side: &str) {
        self.click(&format!("#sides input[value={side}]")).await;
        self.click("#start-play").await;
        self.until(OUR_TURN).await;
    }

    pub(crate) async fn press(&self, label: &str) {
        let button = format!("//*[@id='deeds']/button[contains(., '{label}')]");
        self.click_on(Locator::XPath(&button)).await;
    }

    pub(crate) async fn resign(&self) {
        self.press("Resign").await;
        self.press("Really resign?").await;
        self.until(OVER).await;
    }

    /// The texts of all moves listed.
    pub(crate) async fn moves(&self) -> Vec<String> {
        let listed =
            self.look("[...document.querySelectorAll('.move')].map((move) => move.textContent)");
        serde_json::from_value(listed.await).unwrap()
    }

    pub(crate) async fn text(&self, selector: &str) -> String {
        let told = format!("document.querySelector('{selector}').textContent");
        serde_json::from_value(self.look(&told).await).unwrap()
    }

    async fn squares(&self, mark: &str) -> Vec<String> {
        let script = format!(
            "[...document.querySelectorAll('#board .{mark}')].map((cell) => cell.dataset.square)"
        );
        serde_json::from_value(self.look(&script).await).unwrap()
    }

    pub(crate) async fn click_square(&self, square: &str) {
        self.click(&format!("#board [data-square={square}]")).await;
    }

    /// Makes some legal move by clicking, a capture if one is soon found; promotes to a queen.
    pub(crate) async fn click_some_move(&self) {
        let mut movable = self.squares("movable").await;
        fastrand::shuffle(&mut movable);
        let mut goals = Vec::new();
        for from in movable.iter().take(LOOKS) {
            self.click_square(from).await;
            goals = self.squares("capture").await;
            if !goals.is_empty() {
                break;
            }
            goals = self.squares("target").await;
        }
        let goal = fastrand::choice(&goals).expect("a piece that may move has a goal");
        self.click_square(goal).await;
        if self
            .look("Boolean(document.querySelector('.promotion'))")
            .await
            == json!(true)
        {
            self.click("[data-promotion=q]").await;
        }
    }

    /// Carries a piece with the mouse.
    pub(crate) async fn drag(&self, from: &str, to: &str) {
        let (start, end) = (self.centre(from).await, self.centre(to).await);
        let step = |(x, y): (f64, f64), ms| PointerAction::MoveTo {
            duration: Some(Duration::from_millis(ms)),
            x,
            y,
        };
        let button = fantoccini::actions::MOUSE_BUTTON_LEFT;
        let hand = MouseActions::new("hand".to_owned())
            .then(step(start, 0))
            .then(PointerAction::Down { button })
            .then(step(end, 80))
            .then(PointerAction::Up { button });
        self.client.perform_actions(hand).await.unwrap();
    }

    async fn centre(&self, square: &str) -> (f64, f64) {
        let script = format!(
            "(({{ left, top, width, height }}) => [left + width / 2, top + height / 2])\
             (document.querySelector('#board [data-square={square}]').getBoundingClientRect())"
        );
        serde_json::from_value(self.look(&script).await).unwrap()
    }

    /// Chooses a piece and its goal with the keyboard alone.
    pub(crate) async fn type_move(&self, from: &str, ways: &[Key]) {
        let cell = format!("document.querySelector('#board [data-square={from}]').focus()");
        self.look(&cell).await;
        self.keys(&[Key::Enter]).await;
        self.keys(ways).await;
        self.keys(&[Key::Enter]).await;
    }

    pub(crate) async fn keys(&self, keys: &[Key]) {
        for key in keys {
            self.types(&char::from(*key).to_string()).await;
        }
    }

    /// Types on whatever has the focus.
    pub(crate) async fn types(&self, text: &str) {
        let focused = self.client.active_element().await;
        let focused = focused.expect("something has the focus");
        let typed = focused.send_keys(text).await;
        typed.expect("whatever has the focus hears keys");
    }

    /// After a move of ours: until the opponent has answered, or the game has ended.
    pub(crate) async fn await_answer(&self, listed: usize) {
        let moves = "document.querySelectorAll('.move').length";
        self.until(&format!("{OVER} || ({moves} > {listed} && {OUR_TURN})"))
            .await;
    }
}
