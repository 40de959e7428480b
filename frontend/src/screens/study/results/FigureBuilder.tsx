/** Makes a figure as a journal prints it, of any pictures of the page, and shows it as it will be saved. */
import { useEffect, useRef, useState } from "react";

import { Button } from "../../../ui/Button";
import { Refusal } from "../../../ui/Callout";
import { Dialog } from "../../../ui/Dialog";
import { CheckField, FieldGroup, SelectField, TextField } from "../../../ui/Field";
import { Muted, Row } from "../../../ui/Layout";
import { count, decimal } from "../../../words/format";
import { message, t, type Message } from "../../../words/language";
import { composed, pixelsOf, placed, WIDTHS, type Composed } from "./composed";
import styles from "./FigureBuilder.module.css";
import type { Panel, People } from "./figures";
import { addressOf, savePdf, savePng, saveSvg } from "./save";

const FONTS = {
  sans: ["Arial, Helvetica, sans-serif", message("Sans serif, as Arial")],
  serif: ["'Times New Roman', Times, serif", message("Serif, as Times")],
} as const;
const SIZES = ["5", "6", "7", "8", "9"] as const; // points
const PALETTES = {
  screen: message("As on the screen"),
  okabe: message("For the colour-blind (Okabe and Ito)"),
  grey: message("Greys"),
};
const COLUMNS: Record<keyof typeof WIDTHS, Message> = {
  one: () => t("One column, {{mm}} mm", { mm: WIDTHS.one }),
  two: () => t("Two columns, {{mm}} mm", { mm: WIDTHS.two }),
};
const LAYOUTS = { stacked: message("Below one another"), beside: message("Side by side") };

const said = <Key extends string>(choices: Record<Key, Message>): (readonly [Key, string])[] =>
  (Object.keys(choices) as Key[]).map((key) => [key, choices[key]()] as const);

interface Props {
  panels: ReadonlyMap<string, Panel>;
  /** The key of the panel that the figure begins with. */
  first: string;
  people: People | undefined;
  onClose: () => void;
}

export function FigureBuilder({ panels, first, people, onClose }: Props) {
  const [columns, setColumns] = useState<keyof typeof WIDTHS>(panels.get(first)?.isWide ? "two" : "one");
  const [title, setTitle] = useState("");
  const [hasPeople, showPeople] = useState(false);
  const [hasCases, showCases] = useState(false);
  const [font, setFont] = useState<keyof typeof FONTS>("sans");
  const [size, setSize] = useState<(typeof SIZES)[number]>("7");
  const [palette, setPalette] = useState<keyof typeof PALETTES>("screen");
  const [layout, setLayout] = useState<keyof typeof LAYOUTS>("stacked");
  const [chosen, setChosen] = useState<readonly string[]>([first]);
  const drawn = useRef<HTMLDivElement>(null);
  const [figure, setFigure] = useState<Composed | null>(null);
  const [error, setError] = useState<Error | null>(null);

  const parts = chosen.flatMap((key) => panels.get(key) ?? []);
  const width = pixelsOf(WIDTHS[columns], Number(size));
  const places = placed(
    parts.map(({ isWide = false }) => isWide),
    width,
    layout === "stacked",
  );
  const told = people ? peopleInWords(people, hasPeople, hasCases) : "";

  // Pictures come when they are loaded, and change with every choice: the figure is put together after each change.
  useEffect(() => {
    const put = () => {
      const pictures = [...(drawn.current?.querySelectorAll("svg") ?? [])];
      const isWhole = pictures.length > 0 && pictures.length === places.length;
      const composition = { millimetres: WIDTHS[columns], width, font: FONTS[font][0], title, places };
      setFigure(isWhole ? composed(pictures, { ...composition, people: told }) : null);
    };
    put();
    const observer = new MutationObserver(put);
    const everything = { attributes: true, characterData: true, childList: true, subtree: true };
    if (drawn.current) observer.observe(drawn.current, everything);
    return () => observer.disconnect();
    // What places follow from is listed.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [chosen, columns, size, layout, font, palette, title, told]);

  const file = parts.length === 1 ? (parts[0]?.file ?? "") : `${panels.get(first)?.file ?? ""}-figure`;
  const save = (write: (name: string, figure: Composed) => void | Promise<void>) => async () => {
    if (!figure) return;
    setError(null);
    try {
      await write(file, figure);
    } catch (problem) {
      setError(new Error(t("The figure could not be written. Save the SVG instead."), { cause: problem }));
    }
  };
  return (
    <Dialog
      title={t("Figure for a journal")}
      isWide
      onClose={onClose}
      actions={
        <Button look="quiet" onClick={onClose}>
          {t("Close")}
        </Button>
      }
    >
      <div className={styles.builder}>
        <div className={styles.choices}>
          <FieldGroup legend={t("Panels, in the order in which you choose them")}>
            <div className={styles.panels}>
              {[...panels].map(([key, { about }]) => (
                <CheckField
                  key={key}
                  label={about}
                  checked={chosen.includes(key)}
                  onChange={(on) => setChosen(on ? [...chosen, key] : chosen.filter((each) => each !== key))}
                />
              ))}
            </div>
          </FieldGroup>
          <SelectField
            label={t("Arrangement")}
            value={layout}
            options={said(LAYOUTS)}
            disabled={parts.length < 2}
            onChange={setLayout}
          />
          <SelectField label={t("Width")} value={columns} options={said(COLUMNS)} onChange={setColumns} />
          <TextField label={t("Title")} value={title} onChange={setTitle} />
          {people && (
            <Row>
              <CheckField label={t("Number of people")} checked={hasPeople} onChange={showPeople} />
              {people.cases !== null && (
                <CheckField label={t("Cases and controls")} checked={hasCases} onChange={showCases} />
              )}
            </Row>
          )}
          <SelectField
            label={t("Font")}
            value={font}
            options={said({ sans: FONTS.sans[1], serif: FONTS.serif[1] })}
            onChange={setFont}
          />
          <SelectField
            label={t("Type size")}
            value={size}
            options={SIZES.map((points) => [points, t("{{points}} points", { points })] as const)}
            onChange={setSize}
          />
          <SelectField label={t("Colours")} value={palette} options={said(PALETTES)} onChange={setPalette} />
        </div>
        <div className={styles.seen} aria-busy={!figure}>
          {figure ? (
            <>
              <img src={addressOf(figure)} alt={parts.map(({ about }) => about).join(", ")} />
              <Muted>
                {t("{{width}} × {{height}} mm", {
                  width: decimal(figure.width),
                  height: decimal(Math.round(figure.height)),
                })}
              </Muted>
            </>
          ) : (
            <Muted>{parts.length ? t("Being drawn …") : t("Choose a panel.")}</Muted>
          )}
          <Row>
            <Button look="primary" disabled={!figure} onClick={save(saveSvg)}>
              {t("Save SVG")}
            </Button>
            <Button disabled={!figure} onClick={save((name, of) => savePdf(name, of, font))}>
              {t("Save PDF")}
            </Button>
            {([300, 600] as const).map((dots) => (
              <Button key={dots} disabled={!figure} onClick={save((name, of) => savePng(name, of, dots))}>
                {t("Save PNG, {{dots}} dpi", { dots })}
              </Button>
            ))}
          </Row>
          <Refusal error={error} />
        </div>
      </div>
      {/* The pictures at their width in print, from which the figure is put together; always light. */}
      <div
        ref={drawn}
        className={styles.drawn}
        style={{ fontFamily: FONTS[font][0] }}
        data-paper=""
        data-palette={palette}
        aria-hidden
        inert
      >
        {chosen.map((key, k) => (
          <div key={key}>{panels.get(key)?.draw(places[k]?.width ?? width)}</div>
        ))}
      </div>
    </Dialog>
  );
}

function peopleInWords({ people, cases, controls }: People, hasPeople: boolean, hasCases: boolean): string {
  const said = hasPeople ? [t("N = {{people}}", { people: count(people) })] : [];
  if (hasCases && cases !== null && controls !== null) {
    said.push(
      t("{{cases}} cases, {{controls}} controls", { cases: count(cases), controls: count(controls) }),
    );
  }
  return said.join("; ");
}
