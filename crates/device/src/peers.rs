//! Several devices at once, each of which may touch the memory of the others.

use reduction::RANKS_MAX;

use crate::device::{prepare_gpu, prepare_sim};
use crate::gpu::{Gpu, Prepared, launch_together, open_several, time_together};
use crate::sim::{Sim, SimCall};
use crate::{Call, Choice, Device, Error, Report, SimOptions, Timing};

/// Devices of the simulator where no number of them was asked for.
const SIMULATED: u32 = 2;

/// Devices with one space of addresses: a kernel on one of them reads and writes arrays of all, and may wait for what another does. An
/// array lies with the device that allocated it. They are GPUs of one machine, or devices of the simulator.
#[derive(Debug)]
pub struct Peers {
    devices: Vec<Device>,
}

impl Peers {
    /// Opens what `choice` asks for: `count` devices, or else all GPUs up to [`RANKS_MAX`]. `Auto` falls back to the simulator and says
    /// why, also from a single GPU where no count was given: two simulated devices have more to say to each other.
    ///
    /// # Errors
    /// [`Error::GpuAskedFor`] when `choice` is [`Choice::Gpu`] and there are not so many, or they do not reach each other's memory;
    /// [`Error::NoSuchDevices`] for no device, or more than the simulator has.
    pub fn open(choice: Choice, count: Option<u32>, options: SimOptions) -> Result<Peers, Error> {
        let gpus = |least: u32| match count {
            Some(count) => open_several(count..=count),
            None => open_several(least..=RANKS_MAX),
        };
        let peers = |opened: Vec<_>| Peers { devices: opened.into_iter().map(Device::opened).collect() };
        let why = match choice {
            Choice::Sim => "--device sim was asked for".to_owned(),
            // The simulator refuses it in words.
            _ if count == Some(0) => String::new(),
            Choice::Gpu => {
                return gpus(1).map(peers).map_err(|error| Error::GpuAskedFor { why: Box::new(error) });
            }
            Choice::Auto => match gpus(2) {
                Ok(opened) => return Ok(peers(opened)),
                Err(error) => format!("{error}, so the simulator runs"),
            },
        };
        Peers::simulated_because(count.unwrap_or(SIMULATED), options, &why)
    }

    /// So many devices of the simulator, from 1 on.
    ///
    /// # Errors
    /// [`Error::NoSuchDevices`] for none, or more than [`simt::DEVICES_MAX`].
    pub fn simulated(count: u32, options: SimOptions) -> Result<Peers, Error> {
        Peers::simulated_because(count, options, &format!("{count} devices of the simulator were asked for"))
    }

    fn simulated_because(count: u32, options: SimOptions, why: &str) -> Result<Peers, Error> {
        if count == 0 {
            return Err(Error::NoSuchDevices { count, problem: "one at least is needed".to_owned() });
        }
        let device = |sim| Device::simulated(sim, why);
        Ok(Peers { devices: Sim::several(count, options)?.into_iter().map(device).collect() })
    }

    /// The devices, by their number.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns whether they are GPUs.
    pub fn are_gpus(&self) -> bool {
        self.devices.iter().all(Device::is_gpu)
    }

    /// Runs the launches of each device in their order, all devices at once, and waits for the end of all. The reports of each device,
    /// in the order of its launches. `calls` has a list for each device, which may be empty.
    ///
    /// Nothing orders two devices but what their kernels do in system scope. The simulator reports what is unordered, and the
    /// schedule's seed decides which device is ahead. On GPUs a kernel that waits for a launch that is not in `calls` waits for ever.
    ///
    /// # Errors
    /// As [`Device::launch`]; [`Error::NoSuchDevices`] for more lists than devices.
    pub fn launch(&self, calls: &[Vec<Call<'_>>]) -> Result<Vec<Vec<Report>>, Error> {
        self.check(calls)?;
        if self.are_gpus() {
            launch_together(&self.gpus(), &prepare_gpus(calls)?)?;
            return Ok(calls.iter().map(|calls| vec![Report::default(); calls.len()]).collect());
        }
        let prepare = |calls: &Vec<_>| calls.iter().map(prepare_sim).collect::<Result<Vec<SimCall<'_>>, _>>();
        let prepared = calls.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        let sims = self.devices.iter().filter_map(Device::sim);
        Sim::launch_together(&sims.zip(prepared.iter().map(Vec::as_slice)).collect::<Vec<_>>())
    }

    /// Times launches of all devices, as many of each, which are one call together: a graph of them on each device, replayed behind work
    /// that lasts until all graphs are there. A replay takes the time of the device that began last, as the others wait for it. `None` on
    /// the simulator, which never prints a time as if it were a GPU's.
    ///
    /// # Errors
    /// [`Error::NothingToTime`] for no replay, or unless each device has as many launches, one at least; as [`Peers::launch`].
    pub fn time(&self, calls: &[Vec<Call<'_>>], replays: u32) -> Result<Option<Timing>, Error> {
        self.check(calls)?;
        let launches = calls.first().map_or(0, Vec::len);
        let is_even = calls.len() == self.devices.len() && calls.iter().all(|calls| calls.len() == launches);
        if !is_even || launches == 0 || replays == 0 {
            return Err(Error::NothingToTime);
        }
        if !self.are_gpus() {
            return Ok(None);
        }
        time_together(&self.gpus(), &prepare_gpus(calls)?, replays).map(Some)
    }

    fn gpus(&self) -> Vec<&Gpu> {
        self.devices.iter().filter_map(Device::gpu).collect()
    }

    fn check(&self, calls: &[Vec<Call<'_>>]) -> Result<(), Error> {
        if calls.len() > self.devices.len() {
            let problem = format!("launches were given for {}", calls.len());
            return Err(Error::NoSuchDevices { count: self.devices.len() as u32, problem });
        }
        Ok(())
    }
}

/// The calls of each GPU as it takes them.
fn prepare_gpus<'a>(calls: &'a [Vec<Call<'_>>]) -> Result<Vec<Vec<Prepared<'a>>>, Error> {
    let prepare = |call| prepare_gpu(call).map(Prepared::Launch);
    calls.iter().map(|calls| calls.iter().map(prepare).collect()).collect()
}
