import { Rich } from "../../ui/Rich";
import { t } from "../../words/language";
/** What is hidden from whom, and what is not. */
export function PlainPrivacy() {
  return (
    <>
      <p>
        {t(
          "Genotypes, phenotypes and names of people stay at their cohort. What is sent are counts and sums over the people of a cohort, and each of these numbers is masked: a random number is added to it, as on a clock that has gone round unknown times. A masked number says nothing by itself.",
        )}
      </p>
      <p>
        <Rich text="The server adds the masked numbers of all cohorts. A second party, the <em>compensator</em>, knows the masks, and gives the server their sum. The difference is the sum over all cohorts, which is all that a pooled analysis would have used." />
      </p>
      <p>
        {t(
          "A study can do without a compensator: then each two cohorts share masks, which one adds and the other subtracts, so that they vanish from the sum. To read one cohort’s numbers, the server and all other cohorts would have to work together. Not every method can be run in this way.",
        )}
      </p>
      <ul>
        <li>
          <Rich text="<strong>The server</strong>, and you, never see one cohort’s number. The server sees each sum over all cohorts." />
        </li>
        <li>
          <Rich text="<strong>The compensator</strong> sees masks, and neither data, masked or not, nor results." />
        </li>
        <li>
          <Rich text="<strong>A cohort</strong> sees its own data, the plan and the results, and nothing of one other cohort." />
        </li>
        <li>
          <Rich text="<strong>In clear</strong> go each cohort’s name and key, and its list of variants where the lists differ: names and places of variants, no frequency and no count." />
        </li>
      </ul>
      <p>
        {t(
          "Before it accepts, each cohort sees every quantity that will leave it. You see the same list under Privacy and traffic.",
        )}
      </p>
      <h3>{t("What it does not do")}</h3>
      <ul>
        <li>
          {t(
            "Server and compensator must be run by people who do not work together. Together they could unmask every cohort. A study in which one operator runs both says so on each of its pages.",
          )}
        </li>
        <li>
          <Rich text="The sum itself is not hidden. A sum over very few people is nearly their record: set the minimum number of people as high as the question allows, and use <code>--maf</code>, so that no variant has a handful of carriers." />
        </li>
        <li>
          {t(
            "Exact frequencies in the results can be used to ask whether a person whose genome is known was among the cases. Share results as you would those of a pooled study.",
          )}
        </li>
        <li>{t("Nothing checks that a cohort’s numbers come from its data.")}</li>
      </ul>
    </>
  );
}
