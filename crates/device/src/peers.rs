//! Several devices at once, each of which may touch the memory of the others.

use crate::device::prepare_sim;
use crate::sim::{Sim, SimCall};
use crate::{Call, Device, Error, Report, SimOptions};

/// Devices with one space of addresses: a kernel on one of them reads and writes arrays of all, and may wait for what another does. An
/// array lies with the device that allocated it.
#[derive(Debug)]
pub struct Peers {
    devices: Vec<Device>,
}

impl Peers {
    /// So many devices of the simulator, from 1 on.
    ///
    /// # Errors
    /// [`Error::NoSuchDevices`] for more than [`simt::DEVICES_MAX`].
    pub fn simulated(count: u32, options: SimOptions) -> Result<Peers, Error> {
        let device = |sim| Device::simulated(sim, &format!("{count} devices of the simulator were asked for"));
        Ok(Peers { devices: Sim::several(count, options)?.into_iter().map(device).collect() })
    }

    /// The devices, by their number.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Runs the launches of each device in their order, all devices at once, and waits for the end of all. The reports of each device,
    /// in the order of its launches. `calls` has a list for each device, which may be empty.
    ///
    /// Nothing orders two devices but what their kernels do in system scope. The simulator reports what is unordered, and the
    /// schedule's seed decides which device is ahead.
    ///
    /// # Errors
    /// As [`Device::launch`]; [`Error::NoSuchDevices`] for more lists than devices.
    pub fn launch(&self, calls: &[Vec<Call<'_>>]) -> Result<Vec<Vec<Report>>, Error> {
        if calls.len() > self.devices.len() {
            let problem = format!("launches were given for {}", calls.len());
            return Err(Error::NoSuchDevices { count: self.devices.len() as u32, problem });
        }
        let prepare = |calls: &Vec<_>| calls.iter().map(prepare_sim).collect::<Result<Vec<SimCall<'_>>, _>>();
        let prepared = calls.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
        let sims = self.devices.iter().filter_map(Device::sim);
        Sim::launch_together(&sims.zip(prepared.iter().map(Vec::as_slice)).collect::<Vec<_>>())
    }
}
