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

const PARTS = [
  ["try", "Try it", TryIt],
  ["steps", "A study, step by step", Steps],
  ["cohorts", "What to tell the cohorts", Cohorts],
  ["states", "What each state means, and who can act", States],
  ["privacy", "Privacy in plain words", PlainPrivacy],
  ["pictures", "How to read the pictures", Pictures],
  ["cite", "What to write in a paper", Cite],
] as const;

/** What a coordinator needs to know, in the words of the screens. */
export function Guide() {
  return (
    <Narrow>
      <PageTitle>Guide</PageTitle>
      <nav aria-label="Parts of the guide" className={styles.contents}>
        <ul>
          {PARTS.map(([id, title]) => (
            <li key={id}>
              <Link to={`#${id}`}>{title}</Link>
            </li>
          ))}
        </ul>
      </nav>
      {PARTS.map(([id, title, Text]) => (
        <section key={id} id={id} className={styles.part} aria-labelledby={`${id}-title`}>
          <h2 id={`${id}-title`}>{title}</h2>
          <Text />
        </section>
      ))}
    </Narrow>
  );
}
