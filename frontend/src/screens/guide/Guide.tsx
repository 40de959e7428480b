import { Link } from "react-router";

import { Narrow, PageTitle } from "../../ui/Layout";
import { Cite } from "./Cite";
import { Cohorts } from "./Cohorts";
import styles from "./Guide.module.css";
import { Pictures } from "./Pictures";
import { PlainPrivacy } from "./PlainPrivacy";
import { States } from "./States";
import { Steps } from "./Steps";
import { TryIt } from "./TryIt";
import { message, t } from "../../words/language";

const PARTS = [
  ["try", message("Try it"), TryIt],
  ["steps", message("A study, step by step"), Steps],
  ["cohorts", message("What to tell the cohorts"), Cohorts],
  ["states", message("What each state means, and who can act"), States],
  ["privacy", message("Privacy in plain words"), PlainPrivacy],
  ["pictures", message("How to read the pictures"), Pictures],
  ["cite", message("What to write in a paper"), Cite],
] as const;

/** What a coordinator needs to know, in the words of the screens. */
export function Guide() {
  return (
    <Narrow>
      <PageTitle>{t("Guide")}</PageTitle>
      <nav aria-label={t("Parts of the guide")} className={styles.contents}>
        <ul>
          {PARTS.map(([id, title]) => (
            <li key={id}>
              <Link to={`#${id}`}>{title()}</Link>
            </li>
          ))}
        </ul>
      </nav>
      {PARTS.map(([id, title, Text]) => (
        <section key={id} id={id} className={styles.part} aria-labelledby={`${id}-title`}>
          <h2 id={`${id}-title`}>{title()}</h2>
          <Text />
        </section>
      ))}
    </Narrow>
  );
}
