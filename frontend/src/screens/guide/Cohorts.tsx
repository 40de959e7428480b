import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";
/** What a coordinator writes to the cohorts, and says to them by telephone. */
export function Cohorts() {
  return (
    <>
      <p>{t("Each cohort’s data manager needs the invitation, and this:")}</p>
      <ul>
        <li>
          {t(
            "Install the client beside the data. No administrator rights are needed, and only outgoing connections to this platform. There is a sheet for hospital IT in the documentation.",
          )}
        </li>
        <li>
          {t("Check the files first. This is offline, and names file, line and remedy of every problem:")}
        </li>
      </ul>
      <pre>
        <code>unpooled-client check --bfile tartu --pheno tartu.pheno --pheno-name asthma</code>
      </pre>
      <ul>
        <li>
          {t("Then take part. The client shows who asks for what, and asks before it opens a data file:")}
        </li>
      </ul>
      <pre>
        <code>unpooled-client run invitation.txt --bfile tartu --pheno tartu.pheno --pheno-name asthma</code>
      </pre>
      <ul>
        <li>
          {t(
            "Leave it running. If the computer restarts, the same command goes on where it was. Without it the study waits.",
          )}
        </li>
        <li>
          <Rich text="<code>unpooled-client ledger</code> lists everything that has left the computer." />
        </li>
      </ul>
      <h3>{t("What to compare by telephone")}</h3>
      <p>
        {t(
          "A fingerprint is eight groups of four letters and digits. You read yours from the screen, they read theirs from their client; use a number that you have from elsewhere than from a message about this study.",
        )}
      </p>
      <ul>
        <li>
          <Rich text="<strong>Each cohort’s fingerprint</strong>, under Cohorts, with what that cohort’s own client shows: nobody else has joined in its place." />
        </li>
        <li>
          <Rich text="<strong>The plan hash</strong>, under Plan: all cohorts were shown the same plan." />
        </li>
        <li>
          <Rich text="<strong>The compensator’s fingerprint</strong>, under Plan, with what its operator publishes: masks go to the right party." />
        </li>
        <li>
          <Rich text="<strong>The names of the other cohorts</strong>: every cohort should have heard of them. Invented cohorts are how a dishonest server could see through the sum." />
        </li>
      </ul>
    </>
  );
}
