"""The pages in German: no sentence stays English that the catalogue has, and long words fit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from unpooled.simulate import simulate

from .conftest import AXE, Site
from .pages import Pages

FIXED = 8  # letters of a sentence with values, beside which values cannot be mistaken for it

LOCALES = Path(__file__).parents[2] / "frontend/locales"

# Every text that somebody reads or hears, but not what people and programs have named.
TEXTS = """() => {
  const found = new Set();
  const add = (text) => text?.trim() && found.add(text.trim().replace(/\\s+/g, " "));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, data } = walker.currentNode;
    if (!parentElement.closest("code, textarea, script, style, [lang]:not(html)")) add(data);
  }
  for (const element of document.querySelectorAll("*"))
    for (const name of ["aria-label", "title", "placeholder", "alt"]) add(element.getAttribute(name));
  add(document.title.replace(" · Unpooled", ""));
  return [...found];
}"""


def _english() -> list[re.Pattern[str]]:
    """Return the texts that the catalogue translates, as patterns: anything may stand for a value."""
    catalogue: dict[str, str] = json.loads((LOCALES / "de.json").read_text())
    texts = {re.sub(r"_(one|other)$", "", key) for key, said in catalogue.items() if key != said}
    bare = {re.sub(r"</?\w+/?>", "", text) for text in texts} - set(catalogue.values())
    return [
        re.compile(".+".join(map(re.escape, re.split(r"{{\w+}}", text))))
        for text in bare
        if "{{" not in text or len(re.sub(r"{{\w+}}|\W", "", text)) >= FIXED
    ]


class GermanPages(Pages):
    """A window whose reader knows German."""

    english = _english()

    def look(self, name: str) -> None:
        super().look(f"de-{name}")
        assert self.page.locator("html").get_attribute("lang") == "de"
        texts: list[str] = self.page.evaluate(TEXTS)
        left = [text for text in texts if any(each.fullmatch(text) for each in self.english)]
        assert not left, f"{name} has English that the catalogue knows: {left}"

    def sign_in(self, name: str, password: str) -> None:
        self.open("/")
        self.heading("Anmelden")
        self.look("sign-in")
        self.fill("Benutzername", name)
        self.fill("Passwort", password)
        self.press("Anmelden")
        self.heading("Studien")


@pytest.fixture
def german(browser: Browser, site: Site, pages: Pages) -> Iterator[GermanPages]:
    context = browser.new_context(base_url=site.address, locale="de-DE")
    shown = GermanPages(context.new_page(), site.address, AXE.read_text())
    shown.sign_in(*site.administrator)
    yield shown
    context.close()
    assert shown.complaints == []


def test_a_study_in_german_from_its_form_to_its_results(german: GermanPages) -> None:
    pages = german
    pages.look("studies")
    pages.follow("Neue Studie")
    pages.heading("Neue Studie")
    pages.page.get_by_text("Weitere Regeln").click()
    pages.look("new-study")
    pages.choose("Lineare Regression")
    pages.fill("Name in den Dateien der Kohorten", "alter")
    pages.page.keyboard.press("Enter")
    pages.look("new-study-linear")
    pages.fill("Name der Studie", "Lipide")
    pages.fill("Merkmal", "LDL")
    pages.press("Studie anlegen")
    pages.heading("Lipide")
    pages.fill("Namen", "Graz")
    pages.press("Einladen")
    pages.look("invitation")
    pages.press("Schließen", pages.dialog)
    pages.look("cohorts")
    pages.press("Widerrufen (Einladung von Graz)")
    pages.look("revoke")
    pages.press("Zurück", pages.dialog)
    for tab, name in TABS.items():
        pages.follow(tab)
        pages.is_at(tab)
        pages.look(f"draft-{name}")
    pages.follow("Anleitung")
    pages.heading("Anleitung")
    pages.look("guide")
    pages.press("Demostudie ausprobieren")
    pages.heading("Demo: drei erzeugte Kohorten")
    pages.look("demo-running")
    expect(pages.page.get_by_role("heading", name="Abgeschlossen")).to_be_visible()
    for tab, name in TABS.items():
        pages.follow(tab)
        pages.is_at(tab)
        pages.page.wait_for_load_state("networkidle")
        pages.look(f"done-{name}")


TABS = {
    "Plan": "plan",
    "Kohorten": "cohorts",
    "Fortschritt": "progress",
    "Ergebnisse": "results",
    "Datenschutz und Datenverkehr": "privacy",
    "Protokoll": "log",
}


def test_the_list_of_studies_the_templates_and_the_keys_in_german(german: GermanPages, site: Site) -> None:
    pages, page = german, german.page
    site.coordinator.sign_in(*site.administrator)
    plan = {"test": "chi-square", "phenotype": "asthma", "cohorts": 4}
    for name in ("Graz", "Tartu"):
        site.coordinator.call("POST", "studies", json={"name": name, "plan": plan})
    pages.open("/")
    said = page.get_by_role("search").get_by_role("status")
    expect(said).to_have_text(re.compile(r"^\d+ Studien$"))
    expect(page.get_by_text("Wartet darauf, dass Sie 4 Kohorten einladen", exact=True)).to_have_count(2)
    pages.look("studies-several")
    page.get_by_label("Status", exact=True).select_option("yours")
    page.get_by_label("Test oder Methode", exact=True).select_option("Allelischer Chi-Quadrat-Test")
    page.get_by_label("Reihenfolge", exact=True).select_option("Älteste zuerst")
    pages.fill("Suchen", "tartu")
    expect(said).to_have_text(re.compile(r"^1 von \d+ Studien$"))
    pages.look("studies-found")
    pages.fill("Suchen", "nirgends")
    expect(said).to_have_text("Keine Studie passt.")
    pages.press("Alle anzeigen")

    pages.follow("Neue Studie")
    page.get_by_role("button", name="Logistisch, 10 Hauptkomponenten").click()
    pages.sees("muss die Spalten PC1, PC2, PC3, PC4, PC5, PC6, PC7, PC8, PC9 und PC10 enthalten")
    expect(page.get_by_text("Aus der Vorlage", exact=True).first).to_be_visible()
    page.get_by_text("Weitere Regeln").click()
    pages.look("new-study-template")
    pages.press("Rückgängig machen")

    pages.press("Tastenkürzel")
    expect(pages.dialog).to_contain_text("Datenschutz und Datenverkehr")
    pages.look("shortcuts")
    pages.press("Schließen", pages.dialog)


def test_a_variant_across_the_cohorts_in_german(german: GermanPages, site: Site, tmp_path: Path) -> None:
    pages, page = german, german.page
    made = simulate(tmp_path, cohorts=(90,) * 4, variants=200, effects=(5.0,), seed=3, pooled=False)
    site.coordinator.sign_in(*site.administrator)
    trial = site.study(made.cohorts, test="logistic", files=["assoc", "meta"])
    trial.call("PATCH", json={"name": "Herzinfarkt"})
    trial.start()
    trial.until_over()
    trial.until(lambda: trial.call("GET")["has_pictures"], "the pictures are there")
    pages.open(f"/studies/{trial.id}/results")
    expect(page.get_by_role("heading", name=re.compile("über die Kohorten$"))).to_be_visible()
    pages.sees("4 Kohorten haben eine eigene Schätzung.")
    expect(page.get_by_role("img", name=re.compile("Zufälliger Effekt: OR"))).to_be_visible()
    pages.look("results-across")
    page.get_by_role("button", name=re.compile("^Abbildung erstellen mit .* über die Kohorten$")).click()
    expect(pages.dialog.get_by_role("img", name=re.compile("über die Kohorten$"))).to_be_visible()
    pages.look("figure-across")
    trial.stop()


def test_the_pages_about_people_in_german(german: GermanPages) -> None:
    pages = german
    for path, heading in {
        "/people": "Personen",
        "/platform": "Plattform",
        "/?archived": "Archivierte Studien",
        "/nowhere": "Hier ist nichts",
        "/account/tokens": "administrator",
        "/account/notifications": "administrator",
        "/account/profile": "administrator",
    }.items():
        pages.open(path)
        pages.heading(heading)
        pages.page.wait_for_load_state("networkidle")
        pages.look(path.strip("/?").replace("/", "-"))


@pytest.mark.usefixtures("pages")
def test_who_chooses_a_language_has_it_from_then_on(window: Callable[[], Pages], site: Site) -> None:
    pages = window()
    pages.open("/")
    pages.heading("Sign in")
    pages.page.get_by_label("Language", exact=True).select_option("Deutsch")
    pages.heading("Anmelden")
    pages.fill("Benutzername", site.administrator[0])
    pages.fill("Passwort", "wrong")
    pages.press("Anmelden")
    pages.sees("Benutzername oder Passwort ist falsch.")
    pages.fill("Passwort", site.administrator[1])
    pages.press("Anmelden")
    pages.heading("Studien")
    pages.open("/account/profile")
    pages.heading("administrator")
    pages.page.get_by_label("Sprache", exact=True).select_option("English")
    expect(pages.page.get_by_role("link", name="Studies", exact=True)).to_be_visible()
    pages.page.reload()
    expect(pages.page.get_by_role("link", name="Studies", exact=True)).to_be_visible()
    expect(pages.page.locator("html")).to_have_attribute("lang", "en")


def test_only_german_readers_load_german(pages: Pages, german: GermanPages) -> None:
    def loaded(pages: Pages) -> int:
        return sum(bool(re.search(r"/de-[\w-]+\.js$", request.url)) for request in pages.asked)

    assert (loaded(german), loaded(pages)) == (1, 0)
